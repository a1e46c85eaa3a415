//go:build ignore

/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The independent witness: programs that run at the same events as a tracefs
 * instance records, and count them. One program is loaded per probe, with the
 * probe's number written into its code.
 *
 * Order, in every program: the total first, the attribution second. User space
 * reads in the opposite order, so that a breakdown may be short of its total
 * and never exceeds it.
 *
 * Additions are atomic although every counter belongs to one CPU: a program of
 * another probe may interrupt this one on the same CPU. A probe's own hits need
 * no atomic addition where the kernel never runs a program inside itself.
 */
#include "defs.h"

char program_license[] SEC("license") = "Dual BSD/GPL";

/* Stands for the probe's number; the loader writes the number in its place. */
#define PROBE_NUMBER "0x72696e6761756469"

/* 1 if only the tasks in pids count (ringaudit capture -- COMMAND). */
const volatile __u32 filtered = 0;

/* Places between the hits of one CPU and those of the next: at least the number
 * of probes, and a cache line more. */
const volatile __u32 stride = 1;

/* 1 if the kernel runs no program inside itself on the same CPU. */
const volatile __u32 guarded = 0;

/* Hits by CPU and probe, at cpu * stride + probe: the count that everything is
 * held against. An array with a part for each CPU and not a per-CPU array: its
 * lookup is three instructions on every kernel. */
struct {
	attr(type, MAP_TYPE_ARRAY);
	attr(max_entries, 1);
	kind(key, __u32);
	kind(value, __u64);
} hits SEC(".maps");

/* Of one CPU. Written from the bottom up and copied to user space from the top
 * down, so that a part is never seen without the whole that it belongs to. */
struct cpu_state {
	__u64 unattributed; /* refused records that are not in failed_by_probe: it was full */
	__u64 failed;       /* records refused by the ring buffer */
	__u64 seq;          /* records asked for on this CPU; the next one's number */
	__u64 traced;       /* 1 while the CPU runs a task of pids */
	__u64 task;         /* the task that the CPU was last seen to switch to */
	__u64 unseen;       /* how often that was not the task that then ran */
	__u64 line[2];      /* so that no two CPUs share a cache line */
};

struct {
	attr(type, MAP_TYPE_ARRAY);
	attr(max_entries, 1);
	kind(key, __u32);
	kind(value, struct cpu_state);
} state SEC(".maps");

/* Refused records by probe. Preallocated, so that a failure to count can only
 * mean that the table is full. */
struct {
	attr(type, MAP_TYPE_PERCPU_HASH);
	attr(max_entries, 1);
	kind(key, __u32);
	kind(value, __u64);
} failed_by_probe SEC(".maps");

/* The tasks that count, by the kernel's own PID, as set_event_pid has them. */
struct {
	attr(type, MAP_TYPE_HASH);
	attr(max_entries, 1);
	kind(key, __u32);
	kind(value, __u8);
} pids SEC(".maps");

/* What became of the list: [0] tasks added, [1] removed, [2] not added because it
 * was full. */
struct {
	attr(type, MAP_TYPE_ARRAY);
	attr(max_entries, 3);
	kind(key, __u32);
	kind(value, __u64);
} follow SEC(".maps");

struct record {
	__u64 seq;
	__u64 time; /* CLOCK_MONOTONIC, ns */
	__u32 cpu;
	__u32 probe;
	__u32 pid;
	__u32 tgid;
};

struct {
	attr(type, MAP_TYPE_RINGBUF);
	attr(max_entries, 4096);
} ring SEC(".maps");

inlined __u32 probe_number(void)
{
	__u64 n;
	asm volatile("%0 = " PROBE_NUMBER " ll" : "=r"(n));
	return (__u32)n;
}

inlined struct cpu_state *this_cpu(void)
{
	__u32 cpu = get_smp_processor_id();
	return map_lookup(&state, &cpu);
}

inlined void count(__u32 probe)
{
	__u32 at = get_smp_processor_id() * stride + probe;
	__u64 *n = map_lookup(&hits, &at);

	if (!n)
		return;
	if (guarded)
		*n += 1;
	else
		__sync_fetch_and_add(n, 1);
}

inlined void refused(struct cpu_state *st, __u32 probe)
{
	__u64 *n, zero = 0;

	__sync_fetch_and_add(&st->failed, 1);
	n = map_lookup(&failed_by_probe, &probe);
	if (!n) {
		map_update(&failed_by_probe, &probe, &zero, UPDATE_NOEXIST);
		n = map_lookup(&failed_by_probe, &probe);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		__sync_fetch_and_add(&st->unattributed, 1);
}

inlined void record(struct cpu_state *st, __u32 probe)
{
	struct record *r;
	__u64 id, seq = __sync_fetch_and_add(&st->seq, 1);

	count(probe);
	r = ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		refused(st, probe);
		return;
	}
	id = get_current_pid_tgid();
	r->seq = seq;
	r->time = ktime_get_ns();
	r->cpu = get_smp_processor_id();
	r->probe = probe;
	r->pid = (__u32)id;
	r->tgid = id >> 32;
	ringbuf_submit(r, RB_NO_WAKEUP);
}

inlined int listed(__u32 pid)
{
	return map_lookup(&pids, &pid) != 0;
}

inlined __u32 pid_of(__u64 task)
{
	struct task_struct *t = (void *)task;
	int pid = 0;

	probe_read_kernel(&pid, sizeof(pid), &t->pid);
	return (__u32)pid;
}

/* ---- counting programs ---- */

SEC("raw_tp")
int count_hit(void *ctx)
{
	if (filtered) {
		struct cpu_state *st = this_cpu();
		if (!st || !st->traced)
			return 0;
	}
	count(probe_number());
	return 0;
}

SEC("raw_tp")
int record_hit(void *ctx)
{
	struct cpu_state *st = this_cpu();

	if (!st || (filtered && !st->traced))
		return 0;
	record(st, probe_number());
	return 0;
}

/*
 * System calls come from the running task and nothing else, so here the task
 * itself can be asked. It always says the same as the flag, unless a switch was
 * not reported to the witness: then the flag is set right, and it is noted.
 */
inlined int syscall_counts(struct cpu_state *st)
{
	__u32 task = (__u32)get_current_pid_tgid();

	if (st->task != task) {
		if (st->task)
			st->unseen += 1;
		st->task = task;
		st->traced = listed(task);
	}
	return st->traced;
}

SEC("raw_tp")
int count_syscall(void *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && syscall_counts(st))
		count(probe_number());
	return 0;
}

SEC("raw_tp")
int record_syscall(void *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && syscall_counts(st))
		record(st, probe_number());
	return 0;
}

/*
 * With set_event_pid, tracefs decides by a flag per CPU that sched_switch sets,
 * and makes two exceptions (event_filter_pid_sched_switch_probe_pre and
 * event_filter_pid_sched_wakeup_probe_pre in kernel/trace/trace_events.c):
 * a switch counts if either task is listed, a wakeup also if the woken task is.
 * The witness decides by the same rules.
 */
inlined int switch_counts(struct raw_tp_args *ctx)
{
	return listed(pid_of(ctx->args[1])) || listed(pid_of(ctx->args[2]));
}

inlined int wakeup_counts(struct cpu_state *st, struct raw_tp_args *ctx)
{
	return st->traced || listed(pid_of(ctx->args[0]));
}

SEC("raw_tp")
int count_switch(struct raw_tp_args *ctx)
{
	if (switch_counts(ctx))
		count(probe_number());
	return 0;
}

SEC("raw_tp")
int record_switch(struct raw_tp_args *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && switch_counts(ctx))
		record(st, probe_number());
	return 0;
}

SEC("raw_tp")
int count_wakeup(struct raw_tp_args *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && wakeup_counts(st, ctx))
		count(probe_number());
	return 0;
}

SEC("raw_tp")
int record_wakeup(struct raw_tp_args *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && wakeup_counts(st, ctx))
		record(st, probe_number());
	return 0;
}

/* ---- the twin of set_event_pid with event-fork ---- */

inlined void followed(__u32 what)
{
	__u64 *n = map_lookup(&follow, &what);
	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("raw_tp")
int follow_switch(struct raw_tp_args *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st) {
		st->task = pid_of(ctx->args[2]);
		st->traced = listed((__u32)st->task);
	}
	return 0;
}

/* After a wakeup tracefs looks at the running task again, if the wakeup
 * counted (event_filter_pid_sched_wakeup_probe_post). */
SEC("raw_tp")
int follow_wakeup(struct raw_tp_args *ctx)
{
	struct cpu_state *st = this_cpu();

	if (st && wakeup_counts(st, ctx))
		st->traced = listed((__u32)get_current_pid_tgid());
	return 0;
}

SEC("raw_tp")
int follow_fork(struct raw_tp_args *ctx)
{
	__u32 child;
	__u8 one = 1;

	if (!listed(pid_of(ctx->args[0])))
		return 0;
	child = pid_of(ctx->args[1]);
	followed(map_update(&pids, &child, &one, UPDATE_ANY) ? 2 : 0);
	return 0;
}

SEC("raw_tp")
int follow_free(struct raw_tp_args *ctx)
{
	__u32 pid = pid_of(ctx->args[0]);

	if (!map_delete(&pids, &pid))
		followed(1);
	return 0;
}

/* Does nothing; runs when user space asks for it, to learn whether programs
 * can be loaded at all. */
SEC("raw_tp")
int nothing(void *ctx)
{
	return 0;
}
