/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The little of the kernel's and clang's BPF interface that witness.c uses.
 * Written from the documentation of the BPF system call and its helpers
 * (bpf-helpers(7)); the numbers are kernel ABI.
 */
#ifndef RINGAUDIT_DEFS_H
#define RINGAUDIT_DEFS_H

typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))

/* Fields of a map definition in section .maps, as BTF carries them. */
#define attr(name, value) int(*name)[value]
#define kind(name, type) typeof(type) *name

enum {
	MAP_TYPE_HASH = 1,
	MAP_TYPE_ARRAY = 2,
	MAP_TYPE_PERCPU_HASH = 5,
	MAP_TYPE_RINGBUF = 27,
};

enum {
	UPDATE_ANY = 0,
	UPDATE_NOEXIST = 1,
	RB_NO_WAKEUP = 1,
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static __u64 (*const ktime_get_ns)(void) = (void *)5;
static __u32 (*const get_smp_processor_id)(void) = (void *)8;
static __u64 (*const get_current_pid_tgid)(void) = (void *)14;
static long (*const probe_read_kernel)(void *dst, __u32 size, const void *from) = (void *)113;
static void *(*const ringbuf_reserve)(void *ring, __u64 size, __u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, __u64 flags) = (void *)132;

/* What a raw tracepoint program is given: the tracepoint's arguments. */
struct raw_tp_args {
	__u64 args[0];
};

/* The one field of the kernel's task that is read; its place is found through
 * the running kernel's BTF. */
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

#endif
