# build.sh - configures and builds one build folder. Sourced after progress.sh, by scripts that set `root`.

# The second compiler's version: Debian 12 has clang 16, Debian 13 clang 19.
clang=$(. /etc/os-release && [ "${VERSION_ID:-12}" -ge 13 ] && echo 19 || echo 16)

# Every compiler runs behind ccache. Paths below the checkout are hashed relative to it, so that another clone finds the same objects.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# build FOLDER KIND TARGETS...: KIND is release, thread or address; no targets = everything. `address` is by clang, so
# that both compilers see all of it, and has the fuzzers. It is the longest build: what does not run hot at -O0, line
# tables alone, and the files of a target in units (meson.build), so that the same headers are read less often.
# A failure is reported on standard error and is the exit status.
build() {
    local folder=$1 kind=$2 log=$1/build.log options=(--buildtype=release) compiler=g++
    shift 2
    mkdir -p "$folder"
    case $kind in
        thread) options=(--buildtype=debugoptimized "-Dsanitize=thread") ;;
        address)
            compiler=clang++-$clang
            options=(--buildtype=debugoptimized -Doptimization=0 -Dcpp_args=-gline-tables-only -Dfuzz=true
                     -Dsanitize=address -Db_lundef=false -Dunity=on)
            ;;
    esac
    if [ ! -e "$folder/build.ninja" ]; then
        step "configuring $(basename "$folder")" "$log" \
            env CXX="ccache $compiler" meson setup "${options[@]}" "$folder" "$root" || return
    fi
    step "building $(basename "$folder")" "$log" ninja -C "$folder" "$@"
}
