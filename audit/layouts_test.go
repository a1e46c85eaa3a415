package audit

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// This file audits what kernels of other page sizes, word sizes and byte orders
// print, made from numbers.

// machine is a kernel's layout of sub-buffers.
type machine struct {
	uname   string
	order   binary.ByteOrder
	long    int // bytes of the commit word
	subbuf  int // bytes of a sub-buffer
	over    string
	signed  int  // of char data
	extends bool // the commit word's flags are sign-extended
}

func (m machine) header() int   { return 8 + m.long }
func (m machine) capacity() int { return m.subbuf - m.header() }

// headerPage is events/header_page of the machine.
func (m machine) headerPage() string {
	return fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
		"\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"+
		"\tfield: %s overwrite;\toffset:8;\tsize:1;\tsigned:%d;\n"+
		"\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:%[3]d;\n", m.long, m.over, m.signed, m.header(), m.capacity())
}

// page is a sub-buffer: n records of 16 bytes, 1 µs apart, from stamp (ns) on.
func (m machine) page(stamp uint64, n int, flags uint32, lost uint64) string {
	page := make([]byte, m.subbuf)
	m.order.PutUint64(page, stamp)
	at := m.header()
	for i := range n {
		delta := uint32(1000)
		if i == 0 {
			delta = 0
		}
		word := delta<<5 | 3 // three words of payload
		if m.order == binary.BigEndian {
			word = 3<<27 | delta // bit fields begin at the other end
		}
		m.order.PutUint32(page[at:], word)
		m.order.PutUint16(page[at+4:], 5)
		at += 16
	}
	if flags&pageStored != 0 {
		m.word(page[at:], lost)
	}
	commit := uint64(uint32(n*16) | flags)
	if m.extends && flags&pageMissed != 0 {
		commit |= 0xffffffff << 32
	}
	m.word(page[8:], commit)
	return string(page)
}

func (m machine) word(b []byte, v uint64) {
	if m.long == 4 {
		m.order.PutUint32(b, uint32(v))
		return
	}
	m.order.PutUint64(b, v)
}

// saved is a saved tracefs of the machine.
func (m machine) saved(kb string, cpus ...cpuStats) tree {
	return ring(cpus...).sized(kb, len(cpus)).with("events/header_page", m.headerPage(), "uname-a", m.uname+"\n", "pagesize", fmt.Sprint(m.subbuf)+"\n")
}

var (
	arm64   = machine{"Linux host 6.1.0-50-cloud-arm64 #1 SMP Debian aarch64 GNU/Linux", binary.LittleEndian, 8, 4096, "int", 0, true}
	ppc64le = machine{"Linux host 6.1.0-50-powerpc64le #1 SMP Debian ppc64le GNU/Linux", binary.LittleEndian, 8, 65536, "int", 0, true}
	ppc64   = machine{"Linux host 6.1.0 #1 SMP ppc64 GNU/Linux", binary.BigEndian, 8, 65536, "int", 0, true}
	newest  = machine{"Linux host 7.3.4+deb13-cloud-amd64 #1 SMP x86_64 GNU/Linux", binary.LittleEndian, 8, 4096, "char", 0, true}
	zeroExt = machine{"Linux host 6.12.117+deb12-cloud-amd64 #1 SMP x86_64 GNU/Linux", binary.LittleEndian, 8, 4096, "int", 0, false}
	i386    = machine{"Linux host 6.1.0-50-686 #1 SMP i686 GNU/Linux", binary.LittleEndian, 4, 4096, "int", 1, false}
)

func TestLayoutGeometry(t *testing.T) {
	for _, c := range []struct {
		name    string
		m       machine
		kb      string
		subbufs uint64
		usable  uint64 // of the ring
		memory  uint64 // with the reader page
	}{
		{"4K, 8 asked", arm64, "11", 3, 3 * 4080, 4 * 4096},
		{"64K, 8 asked", ppc64le, "127", 2, 2 * 65520, 3 * 65536},
		{"64K, 1408 asked", ppc64le, "1471", 23, 23 * 65520, 24 * 65536},
		{"64K, 1408 asked, on a kernel that prints the request", ppc64, "1408", 23, 23 * 65520, 24 * 65536},
		{"4K, 7.3", newest, "1410", 354, 354 * 4080, 355 * 4096},
		{"32-bit", i386, "1411", 354, 354 * 4084, 355 * 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := buffer(t, c.m.saved(c.kb, cpuStats{entries: 10}).audit(t), "top")
			size := b.CPUSizes[0]
			if size.Subbufs != Exactly(c.subbufs) || size.UsableBytes != Exactly(c.usable) || size.MemoryBytes != Exactly(c.memory) {
				t.Errorf("%v sub-buffers, %v usable, %v in memory; want %d, %d, %d", size.Subbufs, size.UsableBytes, size.MemoryBytes, c.subbufs, c.usable, c.memory)
			}
			if b.Verdict != Complete {
				t.Errorf("%s: %s", b.Verdict, b.Reason)
			}
		})
	}
}

// A full sub-buffer has no room for the number of lost events: bit 31 stands
// without bit 30 then, and just the counters tell how many were lost.
func TestLayoutPages(t *testing.T) {
	for _, m := range []machine{arm64, ppc64le, ppc64, newest, zeroExt, i386} {
		full, half := m.capacity()/16, m.capacity()/32
		t.Run(strings.Fields(m.uname)[2], func(t *testing.T) {
			pages := m.page(1e9, full, 0, 0) + m.page(2e9, half, pageMissed|pageStored, 700) + m.page(3e9, full, pageMissed, 0)
			records := uint64(2*full + half)
			if m.capacity()%16 != 0 {
				pages = m.page(1e9, full, 0, 0) + m.page(2e9, half, pageMissed|pageStored, 700) + m.page(3e9, half, pageMissed, 0)
				records = uint64(full + 2*half)
			}
			const raw = "per_cpu/cpu0/trace_pipe_raw"
			saved := m.saved("11", cpuStats{read: int64(records), overrun: 1900, oldest: "    0.000000"}, cpuStats{oldest: "    0.000000"})
			b := buffer(t, inFolder(saved.with(raw, pages), raw)(t), "top")
			for q, want := range map[Quantity]Count{
				Delivered: Exactly(records), Written: Exactly(records + 1900), Overwritten: Exactly(1900), Kept: Exactly(0), Dropped: Exactly(0),
			} {
				if got := b.Ledger.Count(0, q); got != want {
					t.Errorf("%v is %v, want %v", q, got, want)
				}
			}
			cpu := b.CPUs[0]
			if cpu.CountedMarks != 1 || cpu.CountedLost != 700 || cpu.UnknownMarks != 1 || cpu.UnknownLost != Exactly(1200) {
				t.Errorf("%d marks of %d events, %d without a number for %v; want 1 of 700 and 1 for 1200", cpu.CountedMarks, cpu.CountedLost, cpu.UnknownMarks, cpu.UnknownLost)
			}
			if b.Verdict != Lossy || len(b.Ledger.Contradictions()) > 0 {
				t.Errorf("%s (%s), contradictions %v", b.Verdict, b.Reason, b.Ledger.Contradictions())
			}

			// The pages alone, with nothing that tells their layout.
			alone := run(t, textFile(t, "cpu0.raw", pages)).Buffers[0].Ledger
			if got := alone.Count(0, Overwritten); got != AtLeast(701) {
				t.Errorf("by the pages alone: overwritten is %v, want at least 701", got)
			}
			if got := alone.Count(0, Delivered); got != Exactly(records) {
				t.Errorf("by the pages alone: delivered is %v, want %d", got, records)
			}
		})
	}
}

func TestLastBootInfo(t *testing.T) {
	one := cpuStats{entries: 40, overrun: 12}
	runScenarios(t, []scenario{
		{
			name:    "this boot's",
			audit:   only(newest.saved("11", one).with("last_boot_info", "# Current\n")),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: Exactly(12), Written: Exactly(52), Kept: Exactly(40)}},
			quiet: []string{"rebuilt-counters"},
		},
		{
			name:    "this boot's, nothing lost",
			audit:   only(newest.saved("11", cpuStats{entries: 40}).with("last_boot_info", "# Current\n")),
			verdict: Complete, exit: 0,
		},
		{
			name:    "of an earlier boot",
			audit:   only(newest.saved("11", cpuStats{entries: 40}).with("last_boot_info", "ffffffff81000000\t[kernel]\nffffffffc0200000\tvirtio\n")),
			verdict: Undetermined, exit: 3,
			rows:  map[int]row{0: {Overwritten: Unknown(), Written: AtLeast(40), Kept: AtLeast(40)}},
			rules: []string{"rebuilt-counters"},
		},
		{
			name:    "of an earlier boot, as 6.12 says it",
			audit:   only(zeroExt.saved("11", one).with("last_boot_info", "text delta:\t0\ndata delta:\t0\n")),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: AtLeast(12), Written: AtLeast(52)}},
			rules: []string{"rebuilt-counters"},
		},
	})
}
