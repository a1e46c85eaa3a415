package tracedat

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// endless is a version 6 file whose CPU 0 is as long as one likes: the same
// sub-buffer again and again, with stamps that go on.
type endless struct {
	head []byte
	page []byte
	size int64
	// end, if not 0, is where the file turns out to end, as it does when
	// somebody cuts it.
	end int64
}

func newEndless(t testing.TB, w *writer, page []byte, pages int64) *endless {
	b := w.v6([]testBuffer{{"", [][][]byte{{page}}}}, nil, "")
	head := len(b) - len(page)
	// The last 8 bytes of the table's only row are the size.
	at := place(t.(*testing.T), b, tagFlyrecord, tagBytes+8)
	w.order().PutUint64(b[at:], uint64(pages)*uint64(len(page)))
	return &endless{head: b[:head], page: page, size: int64(head) + pages*int64(len(page))}
}

func (e *endless) ReadAt(b []byte, off int64) (int, error) {
	end := e.size
	if e.end != 0 {
		end = e.end
	}
	n := 0
	for n < len(b) && off < end {
		var c int
		if off < int64(len(e.head)) {
			c = copy(b[n:], e.head[off:])
		} else {
			at := off - int64(len(e.head))
			i, in := at/int64(len(e.page)), at%int64(len(e.page))
			c = copy(b[n:], e.page[in:])
			if in == 0 && c >= 8 {
				binary.LittleEndian.PutUint64(b[n:], uint64(1000+1000*i))
			}
		}
		c = int(min(int64(c), end-off))
		n, off = n+c, off+int64(c)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// The size of a file, and the number of holes in it, do not matter for memory.
func TestLargeFileTakesLittleMemory(t *testing.T) {
	const pages = 262_144 // 1 GiB
	w := machines(t)[0]
	e := newEndless(t, w, w.subbuf(0, 5, w.tick(0, 1), w.tick(3, 2)), pages)
	if got := allocated(func() {
		f, err := Open(e, e.size, "x.dat")
		if err != nil {
			t.Fatal(err)
		}
		sums, err := f.Summarize(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := sums[0]
		if s.Records != 2*pages || s.HolesTotal != pages || s.Lost != 5*pages || s.Last != 1003+1000*(pages-1) {
			t.Errorf("%d events, %d holes, %d lost, last at %d", s.Records, s.HolesTotal, s.Lost, s.Last)
		}
		if len(s.Holes) > 4096 || s.Holes[len(s.Holes)-1].Before != 1000+1000*(pages-1) {
			t.Errorf("%d entries", len(s.Holes))
		}
		wantNoProblems(t, f, sums)
	}); got > 16<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}

// A file that gets shorter while it is read is a problem, not a crash.
func TestFileCutWhileItIsRead(t *testing.T) {
	w := machines(t)[0]
	e := newEndless(t, w, w.subbuf(0, 0, w.tick(0, 1)), 1000)
	f, err := Open(e, e.size, "x.dat")
	if err != nil {
		t.Fatal(err)
	}
	e.end = int64(len(e.head)) + 500*4096 + 10
	sums, err := f.Summarize(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := sums[0]; s.Records != 500 || !contains(s.Problems, "truncated: the file ends here") {
		t.Errorf("%d events, %v", s.Records, s.Problems)
	}

	w.compress = "zstd"
	b := w.v7([]testBuffer{{"", [][][]byte{repeat(w.subbuf(1, 0, w.tick(0, 1)), 100)}}}, nil, "")
	g := &shrinking{b: b, end: int64(len(b))}
	if f, err = Open(g, int64(len(b)), "x.dat"); err != nil {
		t.Fatal(err)
	}
	d := f.Buffer("").CPUs[0]
	g.end = d.Offset + d.Size/2
	if sums, err = f.Summarize(context.Background(), Options{}); err != nil {
		t.Fatal(err)
	}
	if s := sums[0]; s.Records == 0 || s.Records >= 100 || !contains(s.Problems, "truncated: chunk") {
		t.Errorf("%d events, %v", s.Records, s.Problems)
	}
}

func repeat(page []byte, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = page
	}
	return out
}

type shrinking struct {
	b   []byte
	end int64
}

func (s *shrinking) ReadAt(b []byte, off int64) (int, error) {
	if off >= s.end {
		return 0, io.EOF
	}
	n := copy(b, s.b[off:s.end])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// A page table that claims everything costs nothing.
func TestHostileTables(t *testing.T) {
	w := machines(t)[0]
	b := w.v6([]testBuffer{{"", w.demo()}}, nil, "")
	w.order().PutUint32(b[place(t, b, tagOptions, -4):], maxCPUs)
	if got := allocated(func() { readAll(t, b) }); got > most {
		t.Errorf("%d bytes allocated for a table of %d CPUs", got, maxCPUs)
	}
	// A table whose entries all begin in the middle of a page.
	rows := bytes.Repeat(join(w.u8(0x1004), w.u8(1<<20)), maxCPUs)
	at := place(t, b, tagFlyrecord, tagBytes)
	if got := allocated(func() { readAll(t, join(b[:at], rows, make([]byte, 1<<20))) }); got > most {
		t.Errorf("%d bytes allocated for a table of misplaced CPUs", got)
	}
	// Options that name thousands of buffers, each with the whole table.
	var many []byte
	row := join(w.u4(0), w.u8(0x1000), w.u8(0x1000))
	for i := range 20_000 {
		many = append(many, w.option(OptBuffer, join(w.u8(1018), z(fmt.Sprint("b", i)), z("local"), w.u4(4096), w.u4(100), bytes.Repeat(row, 100)))...)
	}
	many = append(many, w.option(OptDone, w.u8(0))...)
	v7 := w.v7([]testBuffer{{"", w.demo()}}, nil, "")
	le.PutUint64(v7[place(t, v7, "none\x001\x00", 7):], uint64(len(v7)))
	v7 = join(v7, w.u2(0), w.u2(0), w.u4(0), w.u8(uint64(len(many))), many)
	if n := len(open(t, v7).Buffers); n < 1000 {
		t.Errorf("only %d buffers were taken", n)
	}
	if got := allocated(func() { readAll(t, v7) }); got > most {
		t.Errorf("%d bytes allocated for 20,000 buffers", got)
	}
}

var bigName = flag.String("big", "", "write a trace.dat of 420 MB of real sub-buffers to this file (TestWriteBigFile)")
var bigCompress = flag.String("compress", "none", "how to compress it: none, zlib or zstd")

// TestWriteBigFile writes the file for the comparison with cat and trace-cmd:
//
//	go test ./tracefs/tracedat -run TestWriteBigFile -args -big /tmp/big.dat
//	time cat /tmp/big.dat >/dev/null
//	time ringaudit audit /tmp/big.dat >/dev/null
//	time trace-cmd report /tmp/big.dat >/dev/null
func TestWriteBigFile(t *testing.T) {
	if *bigName == "" {
		t.Skip("writes a file of 420 MB; run with -args -big FILE")
	}
	bigFile(t, *bigName, *bigCompress, 420_000_000)
	t.Log(filepath.Clean(*bigName))
	if _, err := os.Stat(*bigName); err != nil {
		t.Fatal(err)
	}
}
