// Package ringlog reads and writes logs of eBPF ring-buffer captures: JSON
// lines, one object a line.
//
// Its own form is ringaudit.ringlog/v1: one [Begin] line, a [Record] line for
// each record that came out of the BPF ring buffer, one [End] line with what
// the kernel side counted. The records of a CPU are numbered without gaps
// before the ring buffer is asked for room, so that a gap in the log is exactly
// what the ring buffer refused (bpf_ringbuf_reserve returning NULL: the kernel
// keeps no count of that, kernel/bpf/ringbuf.c, 5.8 to 7.3). A log without an
// end line is a cut one.
//
// Logs of skbx (schema traceq/0.1.0: capture_start, event, capture_end) are read
// as well.
//
// [Read] streams: memory does not grow with the log. It gives a [Summary], in
// which every number that was in the log keeps its line, and a number that was
// not in the log is absent, never zero.
//
// [Witness] is the count without the records: what the eBPF programs beside a
// tracefs instance say of the events that this instance was asked to record.
package ringlog
