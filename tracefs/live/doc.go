// Package live works on a running Linux kernel: it finds the tracefs, takes
// captures in an instance of its own, watches the counters of all instances, and
// proves the kernel's accounting with a known number of events.
//
// It touches nothing but what it has made. An [Instance] is created under
// instances/, configured, and removed; the top level is only read. What a killed
// process leaves behind is known by its name and by nobody holding its lock
// ([Cleanup]), and nothing else is ever removed.
//
// On other systems than Linux the package exists and its functions return
// [ErrNotLinux].
package live
