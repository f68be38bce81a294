#!/bin/sh
# make_links.sh - a folder of links to some folders of a tree: `make_links.sh FOLDER TREE PATH...`. It replaces FOLDER.
#
# With FOLDER as the only place for includes, a source sees PATH... and no other part of TREE.
set -eu
folder=$1
tree=$2
shift 2
rm -rf "$folder"
for path; do
    mkdir -p "$folder/$(dirname "$path")"
    ln -s "$tree/$path" "$folder/$path"
done
