package main

// The hits of CPU 0 in evidence/ebpf-ring-buffer-loss/two-tracepoints.jsonl:
// records 0 … 50, a hole of 679, records 730 … 820, and nothing up to 1439.
const (
	firstHole = 51
	resume    = firstHole + 679
	lastHole  = 821
	hits      = 1440
)

var noFarSideCaption = caption{"no-far-side", "A refusal, its two counters, and the hole at the end",
	"A program reserves room in the ring. It gets a pointer, or NULL. Behind NULL the program adds to the total of its CPU first and to the probe second; user space reads the probe first and the total second. " +
		"Below, the 1,440 hits of one CPU: 142 records arrived, one hole of 679 lies between records, and 619 more were lost after the last record."}

// slots draws a ring laid out flat, with n records in it.
func slots(p *pen, x, y, w float64, n int) {
	p.rect("none", x, y, w, 40, 6)
	step := (w - 8 + 3) / float64(n)
	for i := range n {
		p.rect("read", x+4+float64(i)*step, y+4, step-3, 32, 3)
	}
}

// hitBar draws the hits of the CPU as a bar, w units wide, with what arrived
// below it; how says in lines what a hole looks like.
func hitBar(p *pen, x0, y, w, h float64, jump, end []string) {
	x := func(hit float64) float64 { return x0 + hit*w/hits }
	p.text("m s", x(0), y-10, "0")
	p.text("m s c", x(lastHole), y-10, "820")
	p.text("m s e", x(hits), y-10, "1439")
	p.rect("read", x(0), y, x(firstHole)-x(0), h, 3)
	p.rect("lost dash", x(firstHole), y, x(resume)-x(firstHole), h, 3)
	p.rect("read", x(resume), y, x(lastHole)-x(resume), h, 3)
	p.rect("lost dash", x(lastHole), y, x(hits)-x(lastHole), h, 3)
	p.text("b c red", x((firstHole+resume)/2), y+24, "679 missing")
	p.lines("s c red", x((firstHole+resume)/2), y+42, 17, jump...)
	p.text("b c red", x((lastHole+hits)/2), y+24, "619 missing")
	p.lines("s c red", x((lastHole+hits)/2), y+42, 17, end...)
	a, b := x(firstHole/2.0), x((resume+lastHole)/2.0)
	p.path("greenline", "M%s %sv9H%sv-9", a, y+h+5, b)
	p.text("s green b c", (a+b)/2, y+h+34, "142 records arrived")
}

// noFarSide: a reservation that fails, who counts it and in which order, and a
// hole at the end of a log that no sequence number shows.
func noFarSide() []byte {
	p := newPen(noFarSideCaption, 480)
	p.rect("none", 16, 72, 132, 56, 8)
	p.text("m b c", 82, 96, "reserve()")
	p.text("s c dim", 82, 115, "in the program")
	// The pointer.
	p.path("greenline", "M148 90C190 90 190 52 222 52")
	p.head("fillgreen", 232, 52, 0, 10, 5)
	p.text("s b green", 156, 48, "pointer")
	slots(p, 236, 32, 388, 14)
	p.text("s dim e", 624, 22, "the ring: no counter of what it refused")
	// NULL.
	p.path("redline", "M148 110C190 110 190 139 222 139")
	p.head("fillred", 232, 139, 0, 10, 5)
	p.text("m s b red", 160, 156, "NULL")
	p.rect("lost", 236, 120, 170, 38, 6)
	p.text("b s", 248, 144, "total of this CPU")
	p.rect("lost", 236, 172, 170, 38, 6)
	p.text("b s", 248, 196, "total of this probe")
	p.text("s dim", 236, 108, "kept by the program, or by nobody")
	// The two orders.
	p.arrow("redline", "fillred", 426, 124, 426, 206)
	p.text("s red b", 438, 160, "counted")
	p.text("s red", 438, 178, "downwards")
	p.arrow("blueline", "fillblue", 532, 206, 532, 124)
	p.text("s blue b", 544, 160, "read")
	p.text("s blue", 544, 178, "upwards")
	p.text("s dim", 236, 234, "so the parts may fall short of the total, not exceed it")

	p.line("line", 16, 262, 624, 262)
	p.text("b", 16, 294, "One CPU, 1,440 hits")
	p.text("s dim e", 624, 294, "hit number")
	hitBar(p, 16, 330, 608, 52, []string{"the numbers jump"}, []string{"no record comes after"})
	p.text("b c", 320, 462, "A hole with no far side: the total shows it, the sequence cannot.")
	return p.done()
}

// noFarSideNarrow is the same with NULL below the program.
func noFarSideNarrow() []byte {
	p := newNarrowPen(noFarSideCaption, 606)
	p.rect("none", 14, 76, 124, 56, 8)
	p.text("m b c", 76, 100, "reserve()")
	p.text("s c dim", 76, 119, "in the program")
	// The pointer.
	p.path("greenline", "M138 104C160 104 148 58 166 58")
	p.head("fillgreen", 176, 58, 0, 10, 5)
	p.text("s b green e", 142, 64, "pointer")
	slots(p, 180, 38, 146, 5)
	p.text("s dim e", 326, 26, "the ring: no counter of what it refused")
	// NULL.
	p.arrow("redline", "fillred", 76, 132, 76, 188)
	p.text("m s b red", 86, 164, "NULL")
	p.lines("s dim", 150, 156, 17, "kept by the program,", "or by nobody")
	p.rect("lost", 14, 190, 150, 38, 6)
	p.text("b s", 22, 214, "total of this CPU")
	p.rect("lost", 14, 240, 150, 38, 6)
	p.text("b s", 22, 264, "total of this probe")
	// The two orders.
	p.arrow("redline", "fillred", 178, 193, 178, 275)
	p.text("s red b", 186, 229, "counted")
	p.text("s red", 186, 247, "downwards")
	p.arrow("blueline", "fillblue", 268, 275, 268, 193)
	p.text("s blue b", 275, 229, "read")
	p.text("s blue", 275, 247, "upwards")
	p.lines("s dim", 14, 302, 17, "so the parts may fall short of the total,", "not exceed it")

	p.line("line", 14, 340, 326, 340)
	p.text("b", 14, 370, "One CPU, 1,440 hits")
	p.text("s dim e", 326, 370, "hit number")
	hitBar(p, 14, 408, 312, 70, []string{"the numbers", "jump"}, []string{"no record", "comes after"})
	p.lines("b c", 170, 550, 21, "A hole with no far side:", "the total shows it,", "the sequence cannot.")
	return p.done()
}
