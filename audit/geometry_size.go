package audit

import (
	"fmt"

	"github.com/ringaudit/ringaudit/tracefs"
)

// SizeContext is what is known of a buffer beyond the number that it prints,
// and can make the number mislead.
type SizeContext struct {
	// OrderFile: the buffer has buffer_subbuf_size_kb (kernels since the 6.8
	// tree). They print what was granted, and do not print anew when the
	// sub-buffer size is changed.
	OrderFile bool
	// PrintsRequests: the kernel is known to print what was requested (some other
	// buffer of it prints a size that is not [Geometry.Granted]). Then a size that
	// came in bytes, by the boot parameter trace_buf_size=, may have been rounded
	// down for printing.
	PrintsRequests bool
	// BootMapped: the buffer lies in memory reserved at boot (last_boot_info).
	BootMapped bool
	// Snapshot: the buffer is the snapshot, which prints no size of its own; the
	// size is that of the buffer that it belongs to.
	Snapshot bool
	// SnapshotAllocated says whether the snapshot was allocated; nil if not known.
	SnapshotAllocated *bool
}

// SizeReading is what a printed size says of one CPU's buffer.
type SizeReading struct {
	Subbufs     Count // now; the reader page is not counted
	UsableBytes Count
	MemoryBytes Count
	// AtFirstUse is what the CPU will have once anything is traced, where the
	// kernel printed "7 (expanded: 1408)"; nil otherwise.
	AtFirstUse *Grant
	// Why says what keeps an interval from being a number, and what a number
	// takes for granted, a sentence each.
	Why []string
}

// ReadSize reads per_cpu/cpuN/buffer_size_kb, or buffer_size_kb of a buffer
// whose CPUs are alike. It knows the cases in which the printed number does not
// lead back to the sub-buffers.
func (g Geometry) ReadSize(s tracefs.Size, ctx SizeContext) SizeReading {
	r := SizeReading{Subbufs: Unknown()}
	switch {
	case !g.valid():
		r.because("events/header_page is not there, so the size of a sub-buffer is not known")
	case s.Mixed:
		r.because("buffer_size_kb says X: the CPUs have unlike sizes, and per_cpu/cpu*/buffer_size_kb says which")
	case s.Remote != "":
		r.because("the buffer belongs to a remote, which lays it out by itself")
	case !s.KB.OK || s.KB.V < 0:
		r.because("no size was printed")
	default:
		r.Subbufs = g.Subbufs(uint64(s.KB.V))
		g.qualify(&r, uint64(s.KB.V), ctx)
		if s.ExpandedKB.OK && s.ExpandedKB.V > 0 {
			if grant, err := g.Grant(uint64(s.ExpandedKB.V)); err == nil {
				r.AtFirstUse = &grant
			}
		}
	}
	r.UsableBytes, r.MemoryBytes = g.Usable(r.Subbufs), g.Memory(r.Subbufs)
	if r.Subbufs.IsUnknown() {
		// Nothing known is nothing known, not "one reader page at least".
		r.UsableBytes, r.MemoryBytes = Unknown(), Unknown()
	}
	return r
}

func (r *SizeReading) because(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// qualify weighs a number that was printed.
func (g Geometry) qualify(r *SizeReading, kb uint64, ctx SizeContext) {
	switch {
	case ctx.OrderFile && !g.Granted(kb) && !ctx.BootMapped:
		// ring_buffer_subbuf_order_set keeps at least the bytes that there were.
		r.Subbufs = AtLeast(r.Subbufs.Lo)
		once := g.afterOrderChange(kb)
		if once.IsUnknown() {
			r.because("%d kB is no size that sub-buffers of %d bytes add up to: it may stand from before the sub-buffer size was changed; write buffer_size_kb again to have it right", kb, g.SubbufBytes)
			break
		}
		r.because("%d kB is no size that sub-buffers of %d bytes add up to: it stands from before the sub-buffer size was changed (%v now, if it was changed once); write buffer_size_kb again to have it right", kb, g.SubbufBytes, once)
	case ctx.PrintsRequests && g.subbufsFor(kb<<10+1023) != r.Subbufs.Lo:
		r.Subbufs.Hi++
		r.because("the kernel prints what was requested, in kB rounded down; if it was asked for in bytes at boot (trace_buf_size=) it comes to one sub-buffer more")
	}
	if ctx.BootMapped && !r.Subbufs.IsUnknown() {
		r.because("the buffer lies in memory reserved at boot, which also holds its meta data: that is what it costs, whatever its size")
	}
	if ctx.Snapshot {
		switch a := ctx.SnapshotAllocated; {
		case a == nil:
			r.Subbufs = Count{Lo: minSubbufs, Hi: max(r.Subbufs.Hi, minSubbufs), Open: r.Subbufs.Open}
			r.because("the snapshot prints no size: it has that of the buffer once it is allocated, and two sub-buffers before")
		case !*a:
			r.Subbufs = Exactly(minSubbufs)
			r.because("the snapshot is not allocated: the kernel keeps two sub-buffers and a reader page for it")
		}
	}
}

// afterOrderChange is how many sub-buffers there are if kb was printed while the
// sub-buffers had another size, and that was changed once since:
// ring_buffer_subbuf_order_set makes room for the bytes that there were.
func (g Geometry) afterOrderChange(kb uint64) Count {
	page := g.PageBytes
	found := Unknown()
	if page == 0 {
		return found
	}
	for order := range maxSubbufOrder + 1 {
		old := g
		old.SubbufBytes = page << order
		old.UsableBytes = old.SubbufBytes - g.HeaderBytes
		if old.SubbufBytes > maxSubbufBytes || old.SubbufBytes == g.SubbufBytes || !old.Granted(kb) {
			continue
		}
		now := Exactly(g.subbufsFor(old.subbufsFor(kb<<10) * old.UsableBytes))
		if found.IsUnknown() {
			found = now
		} else {
			found = found.Hull(now)
		}
	}
	return found
}
