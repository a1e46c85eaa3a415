package main

// The numbers are those of evidence/trace-ring-buffer/published-example: 8 kB
// asked for on a 32-bit kernel, which is a ring of three sub-buffers of 4,084
// usable bytes, beside the reader page. read events is 0 there: no reader came,
// so the reader page is drawn empty.
var twoMetersCaption = caption{"two-meters", "Two counters on two pipes",
	"A ring of three sub-buffers, and a fourth outside of it, the reader page. The writer enters the oldest of the three; 273 events are left in the ring. " +
		"The events of the oldest one run through a valve, which stands on overwrite, into the counter overrun: 44002. The other pipe, to the counter dropped events, is dry: 0."}

// threeRing draws the ring of three sub-buffers around a point, with the writer
// in front of the oldest one, which lies on the right.
func threeRing(p *pen, cx, cy, r0, r1 float64) {
	const from, margin = 25.0, 3.0 // where the oldest begins, and half the space between two
	for i := range 3 {
		c := "kept"
		if i == 0 {
			c = "lost dash"
		}
		a := from + float64(i)*120
		p.sector(c, cx, cy, r0, r1, a, a+120, margin)
	}
	// The writer, clockwise up to the boundary of the oldest.
	p.arc("ink wide", cx, cy, r1+18, from-80, from-6)
	x, y := polar(cx, cy, r1+18, from)
	p.head("fillink", x, y, (from-3)*degree, 15, 8)
	p.text("s red b c", cx+(r0+r1)/2, cy+4, "oldest")
	p.text("h c blue", cx, cy+2, "273")
	p.text("s c dim", cx, cy+24, "events left")
}

// valve draws what the option overwrite does: its needle points along the
// branch that is open, from angle a (degrees clockwise from the top).
func valve(p *pen, x, y, a float64) {
	p.circle("none", x, y, 26)
	x1, y1 := polar(x, y, 17, a)
	x2, y2 := polar(x, y, 17, a+180)
	p.line("ink wide", x2, y2, x1, y1)
	p.circle("fillink", x, y, 4)
}

// twoMeters: a ring overwrites its oldest sub-buffer. Two counters sit on two
// pipes, and a valve decides which of them runs.
func twoMeters() []byte {
	p := newPen(twoMetersCaption, 444)
	const cx, cy = 165.0, 196.0
	p.text("b c", cx, cy-166, "the writer comes round")
	threeRing(p, cx, cy, 76, 134)
	p.rect("none dash", 33, 352, 46, 34, 4)
	p.text("s b", 92, 366, "3 sub-buffers in the ring,")
	p.text("s dim", 92, 383, "1 outside: the reader page")

	// From the oldest sub-buffer to the valve, and on.
	const vx, vy = 404.0, 185.0
	p.path("flow", "M%s %sC%s %s %s %s %s %s", cx+138, cy-30, cx+180, cy-52, vx-74, vy, vx-22, vy)
	p.path("dry", "M%s %sC%s %s %s %s %s %s", vx+14, vy+14, vx+40, vy+60, vx+26, 313, vx+50, 313)
	p.path("flow", "M%s %sC%s %s %s %s %s %s", vx+14, vy-14, vx+40, vy-50, vx+26, 119, vx+50, 119)
	valve(p, vx, vy, 45)
	p.text("m b e s", vx-14, vy+50, "overwrite")
	p.text("b e s", vx-14, vy+67, "is on")

	p.meter("lost", "red", 472, 100, "overrun", "44002")
	p.lines("s", 472, 160, 17, "the oldest events,", "thrown away")
	p.meter("none", "dim", 472, 294, "dropped events", "00000")
	p.lines("s dim", 472, 354, 17, "the newest events,", "refused: runs with", "overwrite off")

	p.text("c b", 320, 430, "44,275 events written. The meter at 0 is on the other pipe.")
	return p.done()
}

// twoMetersNarrow is the same with the meters below the ring.
func twoMetersNarrow() []byte {
	p := newNarrowPen(twoMetersCaption, 690)
	const cx, cy = 130.0, 170.0
	p.text("b c", cx, 26, "the writer comes round")
	threeRing(p, cx, cy, 56, 112)
	p.rect("none dash", 18, 318, 40, 32, 4)
	p.lines("s b", 68, 314, 17, "3 sub-buffers", "in the ring,")
	p.lines("s dim", 68, 348, 17, "1 outside:", "the reader page")

	const vx, vy = 294.0, 300.0
	p.path("flow", "M%s %sC%s %s %s %s %s %s", cx+116, cy-22, cx+156, cy-30, vx, vy-110, vx, vy-22)
	p.path("dry", "M%s %sC%s %s %s %s %s %s", vx+8, vy+22, vx+36, vy+120, vx+20, 563, 186, 563)
	p.path("flow", "M%s %sC%s %s %s %s %s %s", vx-8, vy+22, vx-22, vy+78, vx-40, 449, 186, 449)
	valve(p, vx, vy, 200)
	p.text("m b e s", vx-34, vy-2, "overwrite")
	p.text("b e s", vx-34, vy+15, "is on")

	p.meter("lost", "red", 18, 430, "overrun", "44002")
	p.text("s", 18, 487, "the oldest events, thrown away")
	p.meter("none", "dim", 18, 544, "dropped events", "00000")
	p.lines("s dim", 18, 601, 17, "the newest events, refused:", "runs with overwrite off")
	p.lines("c b", 170, 654, 21, "44,275 events written.", "The meter at 0 is on the other pipe.")
	return p.done()
}
