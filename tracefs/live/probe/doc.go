// Package probe is the independent witness of a capture: eBPF programs that run
// at the same events as a tracefs instance records, count them per CPU and
// probe, and send a record of each through a BPF ring buffer.
//
// A count is the only evidence of events that the kernel refused and counted
// nowhere. It comes in two strengths ([Counts]): with a filter on the tasks of
// one command it is equal to what tracefs attempted; system-wide it gives
// bounds, because two counters on a running machine cannot be read at once.
//
// The programs lie in bpf/witness.c and are licensed GPL-2.0 or BSD-2-Clause,
// as the kernel asks of programs that call its tracing helpers. The objects are
// committed for both byte orders; go generate makes them anew with Debian's
// clang.
package probe

//go:generate go tool bpf2go -tags linux -target bpfel,bpfeb -cc clang -strip llvm-strip -cflags "-O2 -g -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-variable -Wno-unused-const-variable -Wno-missing-declarations" witness bpf/witness.c
