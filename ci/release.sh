#!/usr/bin/env bash
# Builds the release archives: linux, darwin and windows on amd64 and arm64, each with the licence, the licences of all
# modules in the binary and a list of these modules (CycloneDX). It needs Go, tar and, for windows, zip or python3. The
# same commit and Go version make the same bytes.
#
#   ci/release.sh VERSION [FOLDER]    default folder: dist; a version such as snapshot tries everything out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version="${1:?usage: ci/release.sh VERSION [FOLDER]}"
dist="$(realpath -m "${2:-dist}")"
platforms="${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}"
export CGO_ENABLED=0 SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

rm -rf "$dist"
mkdir -p "$dist"

# modules BINARY prints the path and the version of each module in a binary.
modules() { go version -m "$1" | awk '$1 == "dep" { print $2, $3 }' | sort; }

# notices BINARY collects the licences and notices of these modules, and fails for a module without one.
notices() {
  local cache path release dir found
  cache="$(go env GOMODCACHE)"
  echo "Seatrial contains the following modules. Their licences follow."
  modules "$1" | sed 's/^/  /'
  while read -r path release; do
    # The module cache writes a capital letter as ! and the small letter.
    dir="$cache/$(sed 's/[A-Z]/!\L&/g' <<<"$path")@$release"
    found=0
    while IFS= read -r -d '' file; do
      found=1
      printf '\n======== %s %s: %s\n\n' "$path" "$release" "$(basename "$file")"
      cat "$file"
    done < <(find "$dir" -maxdepth 1 -type f \
      \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' -o -iname 'PATENTS*' \) -print0 | sort -z)
    if [[ $found -eq 0 ]]; then
      echo "$path $release has no licence file in $dir." >&2
      return 1
    fi
  done < <(modules "$1")
}

# sbom BINARY writes the modules as CycloneDX 1.5. Neither paths nor versions of modules need escapes in JSON.
sbom() {
  local separator=''
  printf '{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,\n'
  printf ' "metadata": {"component": {"type": "application", "name": "seatrial", "version": "%s"}},\n' "$version"
  printf ' "components": ['
  while read -r path release; do
    printf '%s\n  {"type": "library", "name": "%s", "version": "%s", "purl": "pkg:golang/%s@%s"}' \
      "$separator" "$path" "$release" "$path" "$release"
    separator=,
  done < <(modules "$1")
  printf '\n ]}\n'
}

# archive NAME packs the folder $dist/NAME, with fixed owners, order and times.
archive() {
  if [[ "$1" == *_windows_* ]]; then
    if command -v zip >/dev/null; then
      (cd "$dist" && TZ=UTC zip -q -X -r "$1.zip" "$1")
    else
      (cd "$dist" && python3 -m zipfile -c "$1.zip" "$1")
    fi
  else
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dist" -cf - "$1" |
      gzip -n -9 >"$dist/$1.tar.gz"
  fi
}

for platform in $platforms; do
  os="${platform%/*}" arch="${platform#*/}"
  name="seatrial_${version}_${os}_${arch}"
  binary="$dist/$name/seatrial"
  [[ "$os" != windows ]] || binary+=.exe
  mkdir "$dist/$name"
  GOOS="$os" GOARCH="$arch" go build -trimpath -ldflags '-s -w' -o "$binary" ./cmd/seatrial
  cp LICENSE NOTICE README.md CHANGELOG.md "$dist/$name"
  notices "$binary" >"$dist/$name/THIRD_PARTY_NOTICES"
  sbom "$binary" >"$dist/$name/sbom.json"
  find "$dist/$name" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  archive "$name"
  echo "$name: $(stat -c %s "$binary") bytes, $(modules "$binary" | wc -l) modules"
  rm -rf "${dist:?}/$name"
done
(cd "$dist" && sha256sum seatrial_* >SHA256SUMS)
