package tracedat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var le = binary.LittleEndian

// place is where a byte string begins in b, plus n.
func place(t *testing.T, b []byte, what string, n int) int {
	t.Helper()
	i := bytes.Index(b, []byte(what))
	if i < 0 {
		t.Fatalf("no %q in the file", what)
	}
	return i + n
}

// One fault each: files of testdata/corrupt, and others made here of the sound
// ones. What is asked of each is the kind and the place of the problem, and that
// all that can be read is.
func TestCorruptFiles(t *testing.T) {
	const (
		cpu0 = 0x1000 // where the data of CPU 0 stands in all of these
		cpu1 = 0x7000
	)
	for _, c := range []struct {
		name    string // a file of testdata/corrupt, or one to make
		base    string // of testdata, if it is made
		make    func(*testing.T, []byte) []byte
		refused error    // the error of Open
		say     []string // parts of problems or of the error
		sound   bool     // no problem at all
		events  [2]int   // of CPU 0 and 1
		unknown bool     // whose data it is is not known
		events0 bool     // the names of events are lost
	}{
		{name: "00_ok_v6.dat", sound: true, events: [2]int{260, 3}},
		{name: "01_empty", base: "corrupt/00_ok_v6.dat", make: func(*testing.T, []byte) []byte { return nil }, refused: ErrFormat, say: []string{"0 bytes, its header takes at least 24"}},
		{name: "02_badmagic.dat", refused: ErrFormat, say: []string{`expected "\x17\bDtracing"`}},
		{name: "03_cut12", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { return b[:12] }, refused: ErrFormat, say: []string{"12 bytes, its header takes at least 24"}},
		{name: "04_ver5.dat", refused: ErrVersion, say: []string{`found "5" at offset 10`}},
		{name: "05_ver8", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { b[10] = '8'; return b }, refused: ErrVersion, say: []string{`found "8"`}},
		{name: "06_v6_cut_in_options.dat", say: []string{"option TRACECLOCK at offset 968: truncated: 24 bytes are left, expected 41", "the data of the 2 CPUs"}},
		{name: "07_v6_cut_before_data", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { return b[:cpu0] },
			say: []string{"offset 4096, CPU 0, sub-buffer 0: truncated: 0 sub-buffers of it are in the file, expected 6", "offset 28672, CPU 1, sub-buffer 0: truncated: 0 sub-buffers of it are in the file, expected 1"}},
		{name: "08_v6_cut_midpage.dat", events: [2]int{220, 0}, say: []string{"CPU 0, sub-buffer 3: truncated: 3 sub-buffers of it are in the file, expected 6", "CPU 1, sub-buffer 0: truncated"}},
		{name: "09_v6_cut_pageboundary", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { return b[:0x4000] }, events: [2]int{200, 0},
			say: []string{"CPU 0, sub-buffer 3: truncated: 3 sub-buffers", "CPU 1, sub-buffer 0: truncated: 0 sub-buffers"}},
		{name: "10_v7_optoff0.dat", events: [2]int{260, 3}, say: []string{"options at offset 24: truncated: offset 0", "was not finished", "*.cpu0"}},
		{name: "11_v7_optoff_past_eof", base: "synthetic/syn_v7_none_le64.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint64(b[24:], 1<<40); return b }, events: [2]int{260, 3},
			say: []string{"options at offset 24: truncated: offset 1099511627776 of the first options"}},
		{name: "12_v7_cut_before_options.dat", events: [2]int{260, 3}, unknown: true, say: []string{"options at offset 24: truncated: offset 32768", "which CPU is which"}},
		{name: "13_v7_options_cycle", base: "synthetic/syn_v7_none_le64.dat", make: func(t *testing.T, b []byte) []byte {
			// The option DONE at the end of the options gets their own offset.
			at := le.Uint64(b[24:])
			end := at + sectionHeader + le.Uint64(b[at+8:])
			le.PutUint64(b[end-8:], at)
			return b
		}, events: [2]int{260, 3}, say: []string{"form a loop", "damaged"}},
		{name: "14_commit_gt_page.dat", events: [2]int{160, 3}, say: []string{"offset 4096, CPU 0, sub-buffer 0: damaged: its header claims 65536 bytes"}},
		{name: "15_commit_max27", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[cpu0+8:], 1<<27-1); return b }, events: [2]int{160, 3},
			say: []string{"offset 4096, CPU 0, sub-buffer 0: damaged: its header claims 134217727 bytes"}},
		{name: "16_commit_zero.dat", sound: true, events: [2]int{160, 3}},
		{name: "17_commit_cuts_event", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[cpu0+8:], 2000-10); return b }, events: [2]int{259, 3},
			say: []string{"CPU 0, sub-buffer 0: damaged: a record of 20 bytes at byte 1996, after 99 records, but only 10 bytes are left"}},
		{name: "18_reserved_bit29.dat", events: [2]int{160, 3}, say: []string{"offset 4096, CPU 0, sub-buffer 0: damaged: its header claims 536872912 bytes"}},
		{name: "19_signext_flags", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[cpu0+0x1000+12:], 0xffffffff); return b }, sound: true, events: [2]int{260, 3}},
		{name: "20_datalen_zero.dat", events: [2]int{160, 3}, say: []string{"CPU 0, sub-buffer 0: damaged: a record of 0 bytes at byte 16, after 0 records, expected at least 6"}},
		{name: "21_datalen_huge", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte {
			le.PutUint32(b[cpu0+16+20:], 0)
			le.PutUint32(b[cpu0+16+24:], 0x7fffffff)
			return b
		}, events: [2]int{161, 3}, say: []string{"CPU 0, sub-buffer 0: damaged: a record of 2147483652 bytes at byte 36, after 1 records"}},
		{name: "22_null_padding_first.dat", events: [2]int{160, 3}, say: []string{"CPU 0, sub-buffer 0: damaged: end-of-page padding at byte 16"}},
		{name: "23_zero_page", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { clear(b[cpu0 : cpu0+0x1000]); return b }, sound: true, events: [2]int{160, 3}},
		{name: "24_page_ts_backwards.dat", sound: true, events: [2]int{260, 3}}, // every record is there; Summary.TimeBack tells
		{name: "25_unknown_event_id", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint16(b[cpu0+20:], 4711); return b }, sound: true, events: [2]int{260, 3}},
		{name: "26_zstd_bitflip.dat", events: [2]int{0, 3}, say: []string{"offset 4100, CPU 0, sub-buffer 0: damaged: chunk 0: cannot be unpacked", "6 sub-buffers of data"}},
		{name: "27_chunkcount_huge", base: "synthetic/syn_v7_zstd_le64.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[cpu0:], 100_000); return b }, events: [2]int{260, 3},
			say: []string{"offset 4096, CPU 0: damaged: 100000 chunks, expected at most"}},
		{name: "28_chunkcount_max.dat", events: [2]int{260, 3}, say: []string{"offset 4096, CPU 0: damaged: 4294967295 chunks, expected at most"}},
		{name: "29_chunk_rawsize_1g", base: "synthetic/syn_v7_zstd_le64.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[cpu0+8:], 1<<30); return b }, events: [2]int{260, 3},
			say: []string{"offset 4100, CPU 0, sub-buffer 0: damaged: chunk 0 of 1073741824 bytes when unpacked"}},
		{name: "30_chunk_zsize_2g.dat", events: [2]int{260, 3}, say: []string{"offset 4100, CPU 0, sub-buffer 0: damaged: chunk 0 of 2147483647 packed bytes"}},
		{name: "31_v6_cpuoff_unaligned", base: "corrupt/00_ok_v6.dat", make: func(t *testing.T, b []byte) []byte {
			le.PutUint64(b[place(t, b, tagFlyrecord, tagBytes):], 0x1004)
			return b
		}, events: [2]int{260, 3},
			say: []string{"CPU 0: damaged: offset 4100, expected a multiple of the page size", "read from there"}},
		{name: "32_v6_cpuoff_overflow.dat", events: [2]int{0, 3}, say: []string{"CPU table at offset 1342, CPU 0: damaged: 9223372036854775808 bytes at offset 9223372036854775808"}},
		{name: "33_v6_partial_last_page", base: "corrupt/00_ok_v6.dat", make: func(t *testing.T, b []byte) []byte {
			le.PutUint64(b[place(t, b, tagFlyrecord, tagBytes+8):], 5*0x1000+100)
			return b
		}, events: [2]int{240 + (100-16-16)/20, 3}, say: []string{"CPU 0, sub-buffer 5: truncated: cut: 100 of 4096 bytes"}},
		{name: "34_v6_cpu_overlap.dat", events: [2]int{260, 0}, say: []string{"CPU 1: damaged: 8192 bytes at offset 4096, which CPU 0 has"}},
		{name: "35_endian9", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { b[12] = 9; return b }, events: [2]int{260, 3}, say: []string{"byte order at offset 12: damaged: 9, expected 0 or 1"}},
		{name: "36_long16.dat", events: [2]int{260, 3}, say: []string{"size of a long at offset 13: damaged: 16, expected 4 or 8"}},
		{name: "37_page0", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[14:], 0); return b }, events: [2]int{260, 3}, say: []string{"page size at offset 14: damaged: 0 bytes"}},
		{name: "38_page4095.dat", events: [2]int{260, 3}, say: []string{"page size at offset 14: damaged: 4095 bytes"}},
		{name: "39_page8192_mismatch", base: "corrupt/00_ok_v6.dat", make: func(_ *testing.T, b []byte) []byte { le.PutUint32(b[14:], 8192); return b }, events: [2]int{260, 3}, say: []string{"page size at offset 14: damaged: 8192 bytes, expected 4096 as header_page says"}},
		{name: "40_hdrpage_size_1T.dat", events: [2]int{260, 3}, say: []string{"size of header_page at offset 30: truncated: 1099511627776 bytes"}},
		{name: "41_read_gt_kept", base: "corrupt/00_ok_v6.dat", make: func(t *testing.T, b []byte) []byte {
			copy(b[place(t, b, "read events: 260", 13):], "999")
			return b
		}, sound: true, events: [2]int{260, 3}},
		{name: "count of CPUs", base: "corrupt/00_ok_v6.dat", make: func(t *testing.T, b []byte) []byte { le.PutUint32(b[place(t, b, tagOptions, -4):], 1<<31); return b },
			say: []string{"number of CPUs", "2147483648"}},
		{name: "event formats", base: "corrupt/00_ok_v6.dat", make: func(t *testing.T, b []byte) []byte { le.PutUint64(b[place(t, b, "name: tick", -8):], 1<<50); return b }, events: [2]int{260, 3},
			events0: true, say: []string{"format of an event of lab", "truncated"}},
		{name: "v7 buffer section", base: "synthetic/syn_v7_none_le64.dat", make: func(t *testing.T, b []byte) []byte { le.PutUint16(b[1018:], 9); return b }, events: [2]int{260, 3}, say: []string{"offset 1018: damaged: kind 9, expected 3"}},
		{name: "v7 header section", base: "synthetic/syn_v7_zlib_le64.dat", make: func(t *testing.T, b []byte) []byte { b[29+16+8+20] ^= 0xff; return b }, events: [2]int{260, 3}, say: []string{"cannot be unpacked"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := "testdata/corrupt/" + c.name
			if c.make != nil {
				file = "testdata/" + c.base
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if c.make != nil {
				b = c.make(t, b)
			}
			f, err := Open(bytes.NewReader(b), int64(len(b)), "x.dat")
			if c.refused != nil {
				if !errors.Is(err, c.refused) || !strings.Contains(err.Error(), c.say[0]) || !strings.HasPrefix(err.Error(), "x.dat: ") {
					t.Errorf("error %v, want %q", err, c.say[0])
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			all := append([]Problem(nil), f.Problems...)
			sums, err := f.Summarize(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := [2]int{}
			for i, s := range sums {
				all = append(all, s.Problems...)
				if i > 1 {
					t.Fatalf("%d CPUs", len(sums))
				}
				got[i] = int(s.Records)
				if s.Data.Recovered() != c.unknown || !c.unknown && s.Data.CPU != i {
					t.Errorf("CPU %d", s.Data.CPU)
				}
			}
			if got != c.events {
				t.Errorf("%v events, want %v", got, c.events)
			}
			if c.sound != (len(all) == 0) {
				t.Errorf("problems: %v", all)
			}
			for _, s := range c.say {
				if !contains(all, s) {
					t.Errorf("no problem says %q:\n%v", s, all)
				}
			}
			if !c.events0 && len(f.Buffers) > 0 && len(sums) > 0 && f.EventName(1000) != "lab:tick" {
				t.Errorf("event 1000 is %s", f.EventName(1000))
			}
		})
	}
	n, err := filepath.Glob("testdata/corrupt/*.dat")
	if err != nil || len(n) != 21 {
		t.Errorf("%d files in testdata/corrupt, the table has 21", len(n))
	}
}

// allocated is how many bytes f allocates in all.
func allocated(f func()) uint64 {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return b.TotalAlloc - a.TotalAlloc
}
