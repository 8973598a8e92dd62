#!/usr/bin/env bash
# Builds the parts of a release into dist/ (or the folder that is named), and tests each: crates, wheel, static program,
# image, list of components, checksums. Publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$(realpath -m "${1:-dist}")
target=${CARGO_TARGET_DIR:-target}
tools=$(realpath -m "$target/tools")
PATH="$tools/bin:$PATH"
limit=$((20 * 1024 * 1024))
work=$(mktemp -d)
codes=()
trap 'rm -rf "$work" "${codes[@]}"' EXIT

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'release: %s\n' "$*" >&2; exit 1; }
# A part may be at most 20 MiB.
small() { [ "$(stat -c %s "$1")" -le "$limit" ] || fail "$1 has $(stat -c %s "$1") bytes, more than $limit"; }

[ -z "$(git status --porcelain)" ] || fail "the work tree has changes: a release is what is committed"
[ ! -e "$dist" ] || fail "$dist exists: remove it, or name another folder"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
mkdir -p "$dist/crates"

step "crates"
# A crate's own folder does not have the sources of the others, which its identity covers.
while read -r name code; do
  codes+=("crates/$name/CODE")
  echo "$code" >"crates/$name/CODE"
done < <(cargo xtask code)
cargo package --workspace --exclude paceline-fuzz --exclude paceline-testkit --exclude paceline-python --exclude xtask \
  --locked --allow-dirty --no-verify
cp "$target"/package/paceline*-"$version".crate "$dist/crates/"
rm -f "${codes[@]}"
# The command is built of nothing but the packages, once; cargo's own check would build every crate twice.
mkdir "$work/crates"
for packed in "$dist"/crates/*.crate; do tar -C "$work/crates" -xzf "$packed"; done
{
  printf '[workspace]\nresolver = "3"\nmembers = ["paceline-%s"]\n[patch.crates-io]\n' "$version"
  for folder in "$work"/crates/paceline-*-"$version"; do
    name=$(basename "$folder" "-$version")
    printf '%s = { path = "%s" }\n' "$name" "$(basename "$folder")"
  done
} >"$work/crates/Cargo.toml"
cp Cargo.lock "$work/crates/"
cargo build --manifest-path "$work/crates/Cargo.toml" --package paceline --target-dir "$work/crates/target"
packaged=$("$work/crates/target/debug/paceline" --version)
echo "built of packages: $packaged"
rm -rf "$work/crates"

step "wheel"
python3 -m venv "$work/build"
"$work/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$dist" ./python
python3 -m venv "$work/clean"
"$work/clean/bin/pip" install --quiet --no-index "$dist"/paceline-"$version"-*.whl
(cd "$work" && "$work/clean/bin/python" -c "
import paceline
run = paceline.run('incast-16')
assert run.summary['status'] == 'completed', run.summary['status']
print('the wheel runs: incast-16,', run.summary['events'], 'events')")
small "$dist"/paceline-"$version"-*.whl

step "static program"
# musl where its target is installed (rustup target add), otherwise the C library of this machine, linked statically.
machine=$(uname -m)
triple=$machine-unknown-linux-musl
if [ -d "$(rustc --print target-libdir --target "$triple")" ]; then
  cargo build --release --locked --target "$triple"
else
  triple=$machine-unknown-linux-gnu
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target "$triple"
fi
program=$target/$triple/release/paceline
! readelf -d "$program" | grep -q NEEDED || fail "$program needs shared libraries"
mkdir "$work/root"
cp "$program" "$work/root/paceline"
# Nothing but the program: no C library, no /proc, no home.
if [ "$(id -u)" = 0 ]; then
  env -i "$(command -v chroot)" "$work/root" /paceline run incast-16 --out /results >/dev/null
else
  (cd "$work/root" && env -i ./paceline run incast-16 --out results >/dev/null)
fi
[ -n "$(find "$work/root/results" -name summary.json)" ] || fail "the static program made no results"
tar -C "$work/root" --owner 0 --group 0 --sort name --mtime @0 -cf - paceline | gzip -9n \
  >"$dist/paceline-$version-$triple.tar.gz"
small "$dist/paceline-$version-$triple.tar.gz"

step "image"
rm -rf "$work/root/results"
cp Containerfile "$work/root/"
image=paceline-$version-oci.tar
builder=
for known in podman buildah docker; do
  if "$known" info >/dev/null 2>&1; then builder=$known && break; fi
done
case $builder in
podman | buildah)
  "$builder" build --isolation chroot --tag "paceline:$version" "$work/root"
  "$builder" push --quiet "paceline:$version" "oci-archive:$dist/$image:$version"
  ;;
docker)
  docker build --tag "paceline:$version" "$work/root"
  docker save --output "$dist/$image" "paceline:$version"
  ;;
*) echo "no image: none of podman, buildah and docker works here" ;;
esac
if [ -n "$builder" ]; then
  gzip -9n "$dist/$image"
  small "$dist/$image.gz"
fi

step "list of components"
command -v cargo-cyclonedx >/dev/null || cargo install --quiet --locked --root "$tools" cargo-cyclonedx@0.5.9
cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json --override-filename paceline-sbom
mv crates/cli/paceline-sbom.json "$dist/paceline-$version.cdx.json"
find crates python xtask -name paceline-sbom.json -delete

step "checksums"
(cd "$dist" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum >SHA256SUMS && sha256sum --quiet --check SHA256SUMS)
(cd "$dist" && find . -type f | sort | xargs ls -l)
