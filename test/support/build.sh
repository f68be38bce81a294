# build.sh - configures and builds one build folder. Sourced after progress.sh, by scripts that set `root`.

# The second compiler's version: Debian 12 has clang 16, Debian 13 clang 19.
clang=$(. /etc/os-release && [ "${VERSION_ID:-12}" -ge 13 ] && echo 19 || echo 16)

# Every compiler runs behind ccache. Paths below the checkout are hashed relative to it, so that another clone finds the same objects.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# configure FOLDER KIND: makes the build folder, or brings its lists up to date. KIND is release, tests, thread or address. `release` is a
# user's: a newer compiler's warnings do not stop it. In the other three kinds warnings are errors; `tests` is otherwise as `release`.
# `address` is by clang, so that both compilers see all of it, and has the fuzzers. It is the longest build, hence code off the hot path at
# -O0, line tables alone, and the files of a target in units (meson.build), so that the same headers are read less often. A failure is
# reported on standard error and is the exit status.
configure() {
    local folder=$1 kind=$2 options=() compiler=g++
    if [ -e "$folder/build.ninja" ]; then
        # The folder may be a user's; the lists of meson.build files may have changed.
        if { [ "$kind" = release ] || grep -q -e '-Werror' "$folder/build.ninja" || meson configure "$folder" -Dwerror=true; } &&
            ninja -C "$folder" build.ninja; then return; fi >"$folder/build.log" 2>&1
        tail -n 20 "$folder/build.log" >&2
        return 1
    fi
    mkdir -p "$folder"
    [ "$kind" = release ] || options+=(--werror)
    case $kind in
        release | tests) options+=(--buildtype=release) ;;
        thread) options+=(--buildtype=debugoptimized "-Dsanitize=thread") ;;
        address)
            compiler=clang++-$clang
            options+=(--buildtype=debugoptimized -Doptimization=0 -Dcpp_args=-gline-tables-only -Dfuzz=true
                     -Dsanitize=address -Db_lundef=false -Dunity=on)
            ;;
    esac
    step "configuring $(basename "$folder")" "$folder/build.log" \
        env CXX="ccache $compiler" meson setup "${options[@]}" "$folder" "$root"
}

# build FOLDER KIND TARGETS...: configures and builds; no targets = everything.
build() {
    local folder=$1 kind=$2
    shift 2
    configure "$folder" "$kind" || return
    step "building $(basename "$folder")" "$folder/build.log" ninja -C "$folder" "$@"
}
