#!/bin/busybox sh
# The first program of the lab's machine: loads the drivers, makes a root of the host's file system,
# which is read only, and a layer in memory above it, and runs /command in that.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

# vivid: two webcams, the second with its planes in memory of their own, and an HDMI grabber, which has an
# output and metadata, too.
vivid='n_devs=3 node_types=0x1,0x1,0x20101 num_inputs=1,1,1 input_types=0,0,3 multiplanar=1,2,1'
loopback='devices=2 video_nr=10,11 card_label=Loopback,Rig exclusive_caps=0,0 max_buffers=8'
while read -r driver; do
  case $driver in
    vivid.ko) settings=$vivid ;;
    v4l2loopback.ko) settings=$loopback ;;
    *) settings= ;;
  esac
  insmod "/drivers/$driver" $settings || echo "lab: the driver $driver cannot be loaded"
done </drivers/order

mkdir -p /out
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576 out /out
# With --after the machine starts before what it is to run is there. The host's files are cached: they are
# mounted when they are complete.
until [ -e /out/.lab-go ]; do sleep 0.2; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose host /host
mount -t tmpfs -o size=90% layer /layer
mkdir /layer/changes /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/changes,workdir=/layer/work root /new
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm /new/out
mount -t devpts devpts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t tmpfs run /new/run
mount --bind /out /new/out
ip link set lo up
# As udev has it: who is of these groups may use cameras, and sound.
chgrp "$(awk -F: '$1 == "video" { print $3 }' /new/etc/group)" /dev/video*
chmod 660 /dev/video*
chgrp "$(awk -F: '$1 == "audio" { print $3 }' /new/etc/group)" /dev/snd/*
chmod 660 /dev/snd/*

cp /command /new/lab-command
exec 3>/dev/ttyS1  # Kept open, so that the settings last.
stty -F /dev/ttyS1 raw
touch /new/out/.lab-started
# Through a pipe: nobody sits at this terminal.
{
  chroot /new /lab-command </dev/null
  echo $? >/new/out/.lab-status
} 2>&1 | cat >/dev/ttyS1
sync
poweroff -f
