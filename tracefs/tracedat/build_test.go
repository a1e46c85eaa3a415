package tracedat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// writer writes small trace.dat files for tests, from the description of the
// format and not with the code under test.
type writer struct {
	t        testing.TB
	big      bool
	long     int    // of the kernel
	userLong int    // of the recorder
	page     int    // sub-buffer size
	top      int    // sub-buffer size that header_page and the initial bytes say, if another
	compress string // "none", "zlib", "zstd"; version 7
	date     bool
}

func (w *writer) order() byteOrder {
	if w.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
func (w *writer) u2(v int) []byte    { return w.order().AppendUint16(nil, uint16(v)) }
func (w *writer) u4(v int) []byte    { return w.order().AppendUint32(nil, uint32(v)) }
func (w *writer) u8(v uint64) []byte { return w.order().AppendUint64(nil, v) }
func (w *writer) klong(v uint64) []byte {
	if w.long == 4 {
		return w.u4(int(v))
	}
	return w.u8(v)
}

func join(b ...[]byte) []byte { return bytes.Join(b, nil) }
func z(s string) []byte       { return []byte(s + "\x00") }

func (w *writer) word(typ, delta uint32) []byte {
	if w.big {
		return w.u4(int(typ<<27 | delta))
	}
	return w.u4(int(delta<<5 | typ))
}

// tick is an event of id 1000 of 20 bytes, as lab:tick below has it.
func (w *writer) tick(delta uint32, seq int) []byte {
	return join(w.word(4, delta), w.u2(1000), []byte{0, 0}, w.u4(42), w.u4(seq), w.u4(0))
}

func (w *writer) longTick(delta uint32, seq, extra int) []byte {
	body := join(w.u2(1000), []byte{0, 0}, w.u4(42), w.u4(seq), w.u4(0), make([]byte, extra))
	return join(w.word(0, delta), w.u4(len(body)+4), body)
}

func (w *writer) extend(d uint64) []byte {
	return join(w.word(30, uint32(d&(1<<27-1))), w.u4(int(d>>27)))
}
func (w *writer) absolute(d uint64) []byte {
	return join(w.word(31, uint32(d&(1<<27-1))), w.u4(int(d>>27)))
}
func (w *writer) discarded(n int) []byte {
	return join(w.word(29, 1), w.u4(n-4), make([]byte, n-8))
}

// subbuf is a sub-buffer. lost > 0 has its count stored, lost < 0 has none.
func (w *writer) subbuf(stamp uint64, lost int, records ...[]byte) []byte {
	data := join(records...)
	commit := uint64(len(data))
	var count []byte
	switch {
	case lost > 0:
		commit |= 3 << 30
		count = w.klong(uint64(lost))
	case lost < 0:
		commit |= 1 << 31
	}
	b := join(w.u8(stamp), w.klong(commit), data, count)
	return append(b, make([]byte, w.page-len(b))...)
}

const (
	formatTick = "name: tick\nID: 1000\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" +
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:unsigned int seq;\toffset:8;\tsize:4;\tsigned:0;\n" +
		"\tfield:unsigned int val;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"seq=%u val=%u\", REC->seq, REC->val\n"
	clocks   = "[local] global counter uptime perf mono\n"
	statText = "CPU: %d\nentries: %d\noverrun: %d\ncommit overrun: 0\nbytes: 0\noldest event ts:  1000.000000\nnow ts:  1001.000000\ndropped events: %d\nread events: %d\n"
)

func (w *writer) topPage() int {
	if w.top != 0 {
		return w.top
	}
	return w.page
}

func (w *writer) headers() []byte {
	d := 8 + w.long
	page := fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"+
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:1;\n", w.long, d, w.topPage()-d)
	return join(z("header_page"), w.u8(uint64(len(page))), []byte(page), z("header_event"), w.u8(uint64(len(headerEvent))), []byte(headerEvent))
}

func (w *writer) events() []byte {
	return join(w.u4(1), z("lab"), w.u4(1), w.u8(uint64(len(formatTick))), []byte(formatTick))
}

func (w *writer) initial(version int) []byte {
	order := byte(0)
	if w.big {
		order = 1
	}
	return join(magic, z(fmt.Sprint(version)), []byte{order, byte(w.userLong)}, w.u4(w.topPage()))
}

// testBuffer is a buffer to write: the sub-buffers of each CPU.
type testBuffer struct {
	name string
	cpus [][][]byte
}

func (w *writer) option(id OptionID, data []byte) []byte {
	return join(w.u2(int(id)), w.u4(len(data)), data)
}

func (w *writer) common(stats []string) []byte {
	b := join(w.option(OptTraceClock, z(clocks)), w.option(OptUname, z("Linux lab 6.0 x")), w.option(OptVersion, z("writer")))
	for _, s := range stats {
		b = append(b, w.option(OptCPUStat, z(s))...)
	}
	if w.date {
		b = append(b, w.option(OptDate, z("0x10"))...)
	}
	return b
}

// v6 writes a version 6 file; text, if not empty, is its latency trace.
func (w *writer) v6(bufs []testBuffer, stats []string, text string) []byte {
	out := join(w.initial(6), w.headers(), w.u4(0), w.events(), w.u4(0), w.u4(0), w.u8(7), []byte("42 lab\n"), w.u4(len(bufs[0].cpus)), []byte(tagOptions), w.common(stats))
	var places []int
	for _, b := range bufs[1:] {
		data := join(w.u8(0), z(b.name))
		out = append(out, w.option(OptBuffer, data)...)
		places = append(places, len(out)-len(data))
	}
	out = append(out, w.u2(0)...)
	if text != "" {
		return join(out, []byte(tagLatency), []byte(text))
	}
	for i, b := range bufs {
		if i > 0 {
			copy(out[places[i-1]:], w.u8(uint64(len(out))))
		}
		out = append(out, tagFlyrecord...)
		table := len(out)
		out = append(out, make([]byte, 16*len(b.cpus))...)
		out = join(out, w.u8(7), []byte("[local]"))
		for cpu, pages := range b.cpus {
			out = w.align(out)
			data := join(pages...)
			copy(out[table+16*cpu:], join(w.u8(uint64(len(out))), w.u8(uint64(len(data)))))
			out = append(out, data...)
		}
	}
	return out
}

func (w *writer) align(b []byte) []byte { return append(b, make([]byte, -len(b)&(w.page-1))...) }

func (w *writer) pack(b []byte) []byte {
	var out bytes.Buffer
	switch w.compress {
	case "zlib":
		c := zlib.NewWriter(&out)
		c.Write(b)
		c.Close()
	case "zstd":
		// As trace-cmd does: a frame that does not tell its size.
		c, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			w.t.Fatal(err)
		}
		c.Write(b)
		c.Close()
	}
	return out.Bytes()
}

func (w *writer) chunk(b []byte) []byte {
	c := w.pack(b)
	return join(w.u4(len(c)), w.u4(len(b)), c)
}

// v7 writes a version 7 file; text, if not empty, is the latency trace of an
// only buffer.
func (w *writer) v7(bufs []testBuffer, stats []string, text string) []byte {
	packed := w.compress != "none"
	flag := 0
	if packed {
		flag = 1
	}
	out := join(w.initial(7), z(w.compress), z("1"))
	first := len(out)
	out = append(out, w.u8(0)...)
	var opts []byte
	section := func(id int, data []byte) int {
		at := len(out)
		if packed {
			data = w.chunk(data)
		}
		out = join(out, w.u2(id), w.u2(flag), w.u4(0), w.u8(uint64(len(data))), data)
		return at
	}
	for _, s := range []struct {
		id   OptionID
		data []byte
	}{{OptHeaderSection, w.headers()}, {OptFtraceSection, w.u4(0)}, {OptEventsSection, w.events()}, {OptCmdlinesSection, join(w.u8(7), []byte("42 lab\n"))}} {
		opts = append(opts, w.option(s.id, w.u8(uint64(section(int(s.id), s.data))))...)
	}
	opts = append(opts, w.common(stats)...)
	opts = append(opts, w.option(OptCPUCount, w.u4(2))...)
	for _, b := range bufs {
		at := len(out)
		out = join(out, w.u2(secBuffer), w.u2(flag), w.u4(0), w.u8(0))
		var table []byte
		n := 0
		for cpu, pages := range b.cpus {
			if len(pages) == 0 {
				continue
			}
			n++
			out = w.align(out)
			begin := len(out)
			if packed {
				out = append(out, w.u4((len(pages)+9)/10)...)
				for ; len(pages) > 0; pages = pages[min(10, len(pages)):] {
					out = append(out, w.chunk(join(pages[:min(10, len(pages))]...))...)
				}
			} else {
				out = append(out, join(pages...)...)
			}
			table = join(table, w.u4(cpu), w.u8(uint64(begin)), w.u8(uint64(len(out)-begin)))
		}
		copy(out[at+8:], w.u8(uint64(len(out)-at-sectionHeader)))
		opts = append(opts, w.option(OptBuffer, join(w.u8(uint64(at)), z(b.name), z("local"), w.u4(w.page), w.u4(n), table))...)
	}
	if text != "" {
		at := len(out)
		data := []byte(text)
		if packed {
			data = join(w.u4(1), w.chunk(data))
		}
		out = join(out, w.u2(22), w.u2(flag), w.u4(0), w.u8(uint64(len(data))), data)
		opts = append(opts, w.option(OptBufferText, join(w.u8(uint64(at)), z(""), z("local")))...)
	}
	opts = append(opts, w.option(OptDone, w.u8(0))...)
	copy(out[first:], w.u8(uint64(len(out))))
	return join(out, w.u2(0), w.u2(0), w.u4(0), w.u8(uint64(len(opts))), opts)
}

// demo is the trace that all files of testdata/synthetic hold: 260 events on
// CPU 0 with four counted holes of 32 events and one without a count, and 3 on
// CPU 1.
func (w *writer) demo() [][][]byte {
	const t0 = 1_000_000_000_000
	n := 0
	page := func(stamp uint64, k, lost int, first ...[]byte) []byte {
		records := first
		for i := range k {
			delta := uint32(1000)
			if i == 0 {
				delta = 0
			}
			records = append(records, w.tick(delta, n))
			n++
		}
		return w.subbuf(stamp, lost, records...)
	}
	cpu0 := [][]byte{page(t0, 100, 0), page(t0+10_000_000, 50, 7), page(t0+20_000_000, 50, -1), page(t0+30_000_000, 20, 5, w.absolute(t0+30_000_000)),
		page(t0+40_000_000, 20, 9, w.extend(0)), page(t0+50_000_000, 20, 11, w.discarded(16))}
	cpu1 := [][]byte{w.subbuf(t0+5_000_000, 0, w.tick(0, 5000), w.extend(1<<28), w.tick(5, 5001), w.discarded(24), w.longTick(7, 5002, 200))}
	return [][][]byte{cpu0, cpu1}
}

func demoStats() []string {
	return []string{fmt.Sprintf(statText, 0, 0, 38, 0, 260), fmt.Sprintf(statText, 1, 0, 0, 0, 3)}
}

// machines are all combinations of byte order and long size.
func machines(t testing.TB) []*writer {
	var out []*writer
	for _, big := range []bool{false, true} {
		for _, long := range []int{8, 4} {
			out = append(out, &writer{t: t, big: big, long: long, userLong: long, page: 4096, compress: "none"})
		}
	}
	return append(out, &writer{t: t, long: 8, userLong: 4, page: 4096, compress: "none"},
		&writer{t: t, long: 8, userLong: 8, page: 16384, compress: "none", date: true},
		&writer{t: t, long: 8, userLong: 8, page: 65536, compress: "none"},
		&writer{t: t, big: true, long: 8, userLong: 8, page: 65536, compress: "none"})
}

func (w *writer) String() string {
	order := "le"
	if w.big {
		order = "be"
	}
	return fmt.Sprintf("%s%d-user%d-%dk", order, w.long*8, w.userLong*8, w.page>>10)
}

// open opens a file that is made of bytes.
func open(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.dat")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func wantNoProblems(t testing.TB, f *File, sums []*CPUSummary) {
	t.Helper()
	for _, p := range f.Problems {
		t.Errorf("problem: %v", p)
	}
	for _, s := range sums {
		for _, p := range s.Problems {
			t.Errorf("problem: %v", p)
		}
	}
}

func contains(list []Problem, part string) bool {
	for _, p := range list {
		if strings.Contains(p.String(), part) {
			return true
		}
	}
	return false
}
