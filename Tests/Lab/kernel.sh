#!/usr/bin/env bash
# kernel.sh FOLDER: puts Debian's kernel into FOLDER/kernel, with an archive of the drivers that
# Tests/Lab/init.sh loads and the tools to load them. v4l2loopback is not part of Debian's kernel:
# it is compiled here.
set -euo pipefail
umask 022
# Where depmod and modprobe are, which a user's own PATH need not have.
PATH=$PATH:/usr/sbin:/sbin
folder=$1
work=$folder/work
made=$folder/made
rm -rf "$work" "$made"
mkdir -p "$work" "$made"

install() {
  asRoot=$([ "$(id -u)" = 0 ] || echo sudo)
  DEBIAN_FRONTEND=noninteractive $asRoot apt-get install --yes --quiet=2 \
    --no-install-recommends "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
}
$([ "$(id -u)" = 0 ] || echo sudo) apt-get update --quiet=2
install cpio kmod bzip2 make gcc-12 v4l2loopback-source

package=$(apt-cache depends linux-image-amd64 | awk '/Depends:/ { print $2; exit }')
version=${package#linux-image-}
[ -n "$version" ] || { echo "kernel.sh: Debian names no kernel; is this Debian 12?" >&2; exit 1; }
install "linux-headers-$version"
# Root's download needs no user of its own; whoever is not root has none.
(cd "$work" && apt-get --option APT::Sandbox::User=root --quiet=2 download "$package" busybox-static)
dpkg-deb --extract "$work/$package"_*.deb "$work/kernel"
# Not installed: it would replace the machine's own busybox.
dpkg-deb --extract "$work"/busybox-static_*.deb "$work/busybox"

tar --extract --file /usr/src/v4l2loopback.tar.bz2 --directory "$work"
loopback=$work/modules/v4l2loopback
make -C "/usr/src/linux-headers-$version" M="$loopback" modules >"$work/log" 2>&1 \
  || { cat "$work/log" >&2; exit 1; }
cp "$loopback/v4l2loopback.ko" "$work/kernel/lib/modules/$version/kernel/drivers/media/"
depmod --basedir "$work/kernel" "$version"

disk=$work/disk
mkdir -p "$disk"/{bin,dev,drivers,host,layer,new,proc,sys}
find "$work/busybox" -name busybox -type f -perm /111 -exec cp {} "$disk/bin/busybox" \;
# Each after those that it needs.
for driver in virtio_pci 9pnet_virtio 9p overlay vivid v4l2loopback snd-aloop snd-dummy loop ext4; do
  modprobe --set-version "$version" --dirname "$work/kernel" --show-depends "$driver"
done | awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r file; do
  cp "$file" "$disk/drivers/"
  basename "$file" >>"$disk/drivers/order"
done
(cd "$disk" && find . | cpio --create --format=newc --quiet) >"$made/drivers.cpio"
cp "$work/kernel/boot/vmlinuz-$version" "$made/vmlinuz"

rm -rf "$folder/kernel" "$work"
touch "$made/ready"
mv "$made" "$folder/kernel"
