package tracefs

import "bytes"

// eventHead is what the head of an event line tells.
type eventHead struct {
	cpu   int
	stamp uint64
	unit  Unit
}

// layout is how the lines of a trace begin. It is found with the first event and
// then kept: payloads are free text, and reading each line as whatever it looks
// like would make events of them.
type layout uint8

const (
	layoutNone layout = iota
	layoutStd
	layoutLatency
	layoutVerbose
	layoutRaw
	layoutGraph
	layoutBare
	layoutHex
)

// commWidth is where the dash stands: the kernel prints the task's name with
// %16s, which counts bytes, and a name has at most 15 of them. In latency format
// it is %8.8s. (kernel/trace/trace_output.c: trace_print_context,
// lat_print_generic.)
const (
	commWidth    = 16
	latCommWidth = 8
)

// parseStd takes the head of an ordinary event line apart; dash is the index of
// the dash behind the task's name.
//
//	bash-1994  (   1994) [001] d..1.   230.817024: sys_read -> 0x1
func parseStd(l []byte, dash int) (h eventHead, ok bool) {
	i := dash + 1
	if i < len(l) && l[i] == '-' {
		i++
	}
	j := i
	for j < len(l) && l[j]-'0' <= 9 {
		j++
	}
	if j == i || j-i > 10 {
		return h, false
	}
	for i = j; i < len(l) && l[i] == ' '; i++ {
	}
	if i < len(l) && l[i] == '(' { // option record-tgid
		for i++; i < len(l) && (l[i] == ' ' || l[i] == '-' || l[i]-'0' <= 9); i++ {
		}
		if i >= len(l) || l[i] != ')' {
			return h, false
		}
		for i++; i < len(l) && l[i] == ' '; i++ {
		}
	}
	if i == j || i >= len(l) || l[i] != '[' {
		return h, false
	}
	i++
	cpu := 0
	for j = i; j < len(l) && l[j]-'0' <= 9 && j-i < 6; j++ {
		cpu = cpu*10 + int(l[j]-'0')
	}
	if j-i < 3 || cpu >= MaxCPUs || j+2 > len(l) || l[j] != ']' || l[j+1] != ' ' {
		return h, false
	}
	i = j + 2
	// irq-info is four or five signs, the first of them no digit; without it
	// there are blanks.
	if i < len(l) && l[i] != ' ' && l[i]-'0' > 9 {
		for j = i; j < len(l) && l[j] != ' ' && j-i < 9; j++ {
		}
		if j-i > 8 {
			return h, false
		}
		i = j
	}
	h.cpu = cpu
	return h, h.time(l, i)
}

// time reads blanks, a time and a colon from l[i:].
func (h *eventHead) time(l []byte, i int) bool {
	j, ok := h.number(l, i)
	return ok && j < len(l) && l[j] == ':'
}

// number reads blanks and a time from l[i:] and tells where it ends.
func (h *eventHead) number(l []byte, i int) (end int, ok bool) {
	for i < len(l) && l[i] == ' ' {
		i++
	}
	var v uint64
	j := i
	for j < len(l) && l[j]-'0' <= 9 {
		v = v*10 + uint64(l[j]-'0')
		j++
	}
	if j == i || j-i > 20 || j-i == 20 && string(l[i:j]) > "18446744073709551615" {
		return j, false
	}
	if j >= len(l) || l[j] != '.' {
		h.stamp, h.unit = v, Ticks
		return j, true
	}
	if v > 18446744072 { // 2^64 ns
		return j, false
	}
	frac := uint64(0)
	i = j + 1
	for j = i; j < len(l) && l[j]-'0' <= 9 && j-i < 10; j++ {
		frac = frac*10 + uint64(l[j]-'0')
	}
	switch j - i {
	case 6: // the kernel's
		frac *= 1000
	case 9: // trace-cmd report -t
	default:
		return j, false
	}
	h.stamp, h.unit = v*1e9+frac, Nanoseconds
	return j, true
}

// parseStdAnywhere reads an ordinary event line whose blanks before the task's
// name are lost or more than the kernel prints: text that went through a mail or
// a web page, and the instance column of trace-cmd report.
func parseStdAnywhere(l []byte) (h eventHead, ok bool) {
	limit := min(len(l), 160)
	for i := 0; i < limit; i++ {
		if l[i] != '-' {
			continue
		}
		if h, ok = parseStd(l, i); ok {
			return h, true
		}
	}
	return h, false
}

// parseLatency takes the head of a line in latency format apart: the time is
// microseconds since the buffer's start.
//
//	<idle>-0         1d.h1.   12us+: softirq_raise: vec=9
func parseLatency(l []byte, dash int) (h eventHead, ok bool) {
	i := dash + 1
	if i < len(l) && l[i] == '-' {
		i++
	}
	j := i
	for j < len(l) && l[j]-'0' <= 9 {
		j++
	}
	if j == i || j-i > 10 {
		return h, false
	}
	for i = j; i < len(l) && l[i] == ' '; i++ {
	}
	if i == j {
		return h, false
	}
	cpu := 0
	for j = i; j < len(l) && l[j]-'0' <= 9 && j-i < 6; j++ {
		cpu = cpu*10 + int(l[j]-'0')
	}
	if j == i || cpu >= MaxCPUs {
		return h, false
	}
	h.cpu = cpu
	i = j
	for j = i; j < len(l) && l[j] != ' ' && j-i < 9; j++ {
	}
	if n := j - i; n < 4 || n > 8 || l[i] != '.' && (l[i]|0x20 < 'a' || l[i]|0x20 > 'z') {
		return h, false
	}
	for i = j; i < len(l) && l[i] == ' '; i++ {
	}
	if i == j {
		return h, false
	}
	var us uint64
	for j = i; j < len(l) && l[j]-'0' <= 9 && j-i < 19; j++ {
		us = us*10 + uint64(l[j]-'0')
	}
	if j == i {
		return h, false
	}
	if bytes.HasPrefix(l[j:], []byte("us")) && len(l) > j+3 && l[j+3] == ':' { // a mark for long gaps between
		if us > 1<<63/1000 {
			return h, false
		}
		h.stamp, h.unit = us*1000, Nanoseconds
		return h, true
	}
	return h, h.time(l, i)
}

// parseVerbose takes the head of a line with options latency-format and verbose
// apart. The number in brackets is the time, in hexadecimal: microseconds where
// the clock counts time.
//
//	<idle>       0   1 1 00000000 00000000 [0001d1b2] 12.345ms (+0.012ms): softirq_raise: vec=9
func parseVerbose(l []byte) (h eventHead, ok bool) {
	if len(l) <= commWidth || l[commWidth] != ' ' {
		return h, false
	}
	f, rest := l[commWidth:], []byte(nil)
	var num [4]uint64
	for k := range num { // pid, cpu, flags, preempt count
		if num[k], rest, ok = hexField(f, k == 3); !ok {
			return h, false
		}
		f = rest
	}
	if _, rest, ok = hexField(f, true); !ok { // index
		return h, false
	}
	if len(rest) < 2 || rest[0] != ' ' || rest[1] != '[' || num[1] >= MaxCPUs {
		return h, false
	}
	v, rest, ok := hexField(rest[2:], true)
	if !ok || len(rest) < 2 || rest[0] != ']' {
		return h, false
	}
	h.cpu, h.stamp, h.unit = int(num[1]), v, Ticks
	if i := bytes.Index(rest, []byte("ms")); i > 0 {
		if v > 1<<63/1000 {
			return h, false
		}
		h.stamp, h.unit = v*1000, Nanoseconds
	}
	return h, true
}

// hexField reads blanks and a number.
func hexField(l []byte, hex bool) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(l) && l[i] == ' ' {
		i++
	}
	j := i
	for ; j < len(l) && j-i < 17; j++ {
		c := l[j]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case hex && c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return v, l[j:], j > i
		}
		if hex {
			v = v<<4 | uint64(c)
		} else {
			v = v*10 + uint64(c)
		}
	}
	return v, l[j:], j > i && j-i <= 16
}

// parseRaw takes a line of option raw apart: pid, CPU and time as plain numbers
// (print_raw_fmt). The time is nanoseconds or ticks; nothing tells which, so its
// unit is Ticks.
func parseRaw(l []byte) (h eventHead, ok bool) {
	var num [3]uint64
	f := l
	if len(f) > 0 && f[0] == '-' {
		f = f[1:]
	}
	for k := range num {
		if len(f) == 0 || f[0]-'0' > 9 {
			return h, false
		}
		j := 0
		for j < len(f) && f[j]-'0' <= 9 && j < 20 {
			num[k] = num[k]*10 + uint64(f[j]-'0')
			j++
		}
		if j >= 20 && k < 2 || j >= len(f) || f[j] != ' ' {
			return h, false
		}
		f = f[j+1:]
	}
	if num[1] >= MaxCPUs {
		return h, false
	}
	return eventHead{cpu: int(num[1]), stamp: num[2], unit: Ticks}, true
}

// parseGraph takes the head of a function_graph line apart: an absolute time, a
// relative one, the CPU and a parenthesis, the first two only with their options.
//
//	230.817024 |   1)   0.331 us    |      mutex_unlock();
func parseGraph(l []byte) (h eventHead, ok bool) {
	i := blanks(l, 0)
	j := digits(l, i)
	if j > i && j < len(l) && l[j] == '.' {
		k, ok := h.number(l, i)
		if !ok || !bytes.HasPrefix(l[k:], []byte(" |  ")) {
			return eventHead{}, false
		}
		i = blanks(l, k+4)
		j = digits(l, i)
	}
	if bytes.HasPrefix(l[j:], []byte(" us |  ")) && j > i {
		i = blanks(l, j+7)
		j = digits(l, i)
	}
	if j == i || j-i > 5 || j >= len(l) || l[j] != ')' || j+1 < len(l) && l[j+1] != ' ' {
		return eventHead{}, false
	}
	for _, c := range l[i:j] {
		h.cpu = h.cpu*10 + int(c-'0')
	}
	return h, h.cpu < MaxCPUs
}

func digits(l []byte, i int) int {
	for i < len(l) && l[i]-'0' <= 9 {
		i++
	}
	return i
}

func blanks(l []byte, i int) int {
	for i < len(l) && l[i] == ' ' {
		i++
	}
	return i
}

// isHex tells the words that option hex prints: pid, CPU and time.
func isHex(l []byte) bool {
	if len(l) < 35 || l[8] != ' ' || l[17] != ' ' || l[34] != ' ' {
		return false
	}
	for i, c := range l[:34] {
		if i == 8 || i == 17 {
			continue
		}
		if c-'0' > 9 && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isBare tells whether a line can be an event without context: "name: …" or a
// function line " name <-parent".
func isBare(l []byte) bool {
	if len(l) == 0 {
		return false
	}
	if l[0] == ' ' {
		return bytes.Contains(l, []byte(" <-"))
	}
	for i, c := range l {
		switch {
		case c == ':':
			return i > 0 && (i+1 == len(l) || l[i+1] == ' ')
		case c == '(': // a system call: sys_read(fd: 3, …)
			return i > 4 && bytes.HasPrefix(l, []byte("sys_"))
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', i > 0 && c-'0' <= 9:
		default:
			return i > 4 && bytes.HasPrefix(l, []byte("sys_")) && c == ' '
		}
	}
	return false
}
