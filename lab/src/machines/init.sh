#!/bin/busybox sh
# The first process of a virtual machine: finds out whether heist sees the machine as it is, and
# whether a pool follows the limits on its process. Each check prints a line.

/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
groups=/sys/fs/cgroup
mkdir -p $groups
mount -t cgroup2 cgroup2 $groups

echo "= $(uname -r) with the CPUs $(cat /sys/devices/system/cpu/online)"
heist doctor | sed '/^settings/,$d'
places

# The program says so, within half a minute.
comes_to() {
    tries=0
    while [ "$(tail -n 1 /tmp/said)" != "active: $1" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 150 ]; then
            echo "FAILED: $2: expected active: $1, found $(tail -n 1 /tmp/said)"
            return
        fi
        sleep 0.2
    done
    echo "ok: $2"
}

outer=$groups/outer
inner=$outer/inner
echo "+cpu +cpuset" >$groups/cgroup.subtree_control
mkdir -p $inner
echo "+cpu +cpuset" >$outer/cgroup.subtree_control
(
    echo 0 >$inner/cgroup.procs
    exec places 400 >/tmp/said
) &
sleep 1

comes_to 8 "no limit"
echo "200000 100000" >$outer/cpu.max
comes_to 2 "a quota of two in the group above"
echo "50000 100000" >$outer/cpu.max
comes_to 1 "a quota of a half"
echo "max" >$outer/cpu.max
comes_to 8 "the quota is gone"
echo "350000 100000" >$inner/cpu.max
comes_to 3 "a quota of three and a half"
echo "max" >$inner/cpu.max
echo 1,6 >$inner/cpuset.cpus
comes_to 2 "a set of two processors"
echo 0-7 >$inner/cpuset.cpus
comes_to 8 "all processors again"
for cpu in 2 3 5; do
    echo 0 >/sys/devices/system/cpu/cpu$cpu/online
done
comes_to 5 "three processors are switched off"
heist doctor | grep -E "^  (affinity|victims)"
places
for cpu in 2 3 5; do
    echo 1 >/sys/devices/system/cpu/cpu$cpu/online
done
comes_to 8 "they are switched on"
echo "400000 100000" >$outer/cpu.max
comes_to 4 "a quota of four"
echo "$!" >$groups/cgroup.procs
comes_to 8 "the program is moved out of its group"
kill $!

mkdir -p "/tmp/other place"
umount $groups
mount -t cgroup2 cgroup2 "/tmp/other place"
(
    echo 0 >"/tmp/other place/outer/inner/cgroup.procs"
    heist doctor | grep -E "^  (pool|CPU quota)"
)
umount -l /proc
if heist doctor >/dev/null; then
    echo "ok: doctor where nothing is mounted on /proc"
fi
echo "= end"
poweroff -f
