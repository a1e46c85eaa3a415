package main

// The loss is that of CPU 0 in evidence/reading-a-trace/known-count-raw: markers
// 1 … 3000, of which 2,667 were overwritten. Its header reads 333/3000, and its
// first raw page carries both bits, 4,064 bytes and the number behind them. The
// mark of trace_pipe is the first of
// evidence/trace-ring-buffer/known-count-overwrite, where the same markers met
// the same ring. The last three windows were measured with losses of their own,
// which they name: 636 of 1,000 markers through mmap (section 3), 211,120 +
// 515,330 before a snapshot, 20,000 - 7,808 before a reboot.
var sixWindowsCaption = caption{"six-windows", "Six windows onto one loss",
	"2,667 events were overwritten. trace shows a header of 333/3000, whose difference is the number, or a mark without a number when the writer runs; trace_pipe shows the number; " +
		"a raw page has bit 31, and where the number fits bit 30 and the number behind the data; a mapped page has the same, beside a count of 0 on the front page; " +
		"after a snapshot the counters are those of the other buffer; after a reboot the count is 0."}

// window is one way of reading.
type window struct {
	name, how string
	draw      func(p *pen, x, y float64) // below its name, in a pane 200 units wide
	flat      func(p *pen, x, y float64) // the same in a pane 316 units wide
}

// bits draws the two flags of a commit word.
func bits(p *pen, x, y float64) {
	for i, n := range []string{"31", "30"} {
		p.rect("lost", x+float64(i)*38, y, 34, 30, 4)
		p.text("m c s b red", x+float64(i)*38+17, y+20, n)
	}
}

// rawPage draws data with a stored number behind it, w units wide.
func rawPage(p *pen, x, y, w float64, lost string) {
	const n = 46
	p.rect("kept", x, y, w-n, 26, 3)
	p.text("s c blue", x+(w-n)/2, y+18, "4,064 bytes")
	p.rect("lost", x+w-n, y, n, 26, 3)
	p.text("m s b c red", x+w-n/2, y+18, lost)
}

// exchange draws two buffers that change places.
func exchange(p *pen, x, y float64) {
	p.rect("kept", x, y, 68, 40, 5)
	p.rect("none", x+84, y, 68, 40, 5)
	p.text("m c s b blue", x+34, y+25, "main")
	p.text("m c s b dim", x+118, y+25, "spare")
	p.path("ink", "M%s %sC%s %s %s %s %s %s", x+36, y+54, x+46, y+66, x+106, y+66, x+116, y+54)
	p.head("fillink", x+31, y+45, -2.1, 10, 5)
	p.head("fillink", x+121, y+45, -1.05, 10, 5)
}

var windows = []window{
	{"trace", "a yes, or a subtraction",
		func(p *pen, x, y float64) {
			p.text("s dim", x, y+22, "header at rest:")
			p.text("m b", x, y+43, "333/3000")
			p.text("s dim", x, y+62, "difference: 2,667")
			p.text("s dim", x, y+100, "beside a writer:")
			p.text("m b s red", x, y+121, "CPU:n [LOST EVENTS]")
		},
		func(p *pen, x, y float64) {
			p.text("s dim", x, y+22, "header at rest:")
			p.text("m b", x, y+43, "333/3000")
			p.text("s dim", x, y+62, "difference: 2,667")
			p.text("s dim", x+134, y+22, "beside a writer:")
			p.text("m b s red", x+134, y+43, "CPU:n [LOST EVENTS]")
		}},
	{"trace_pipe", "a number",
		func(p *pen, x, y float64) {
			p.text("h red", x, y+62, "2667")
			p.text("m b s red", x, y+92, "[LOST 2667 EVENTS]")
		},
		func(p *pen, x, y float64) {
			p.text("h red", x, y+48, "2667")
			p.text("m b s red", x+134, y+43, "[LOST 2667 EVENTS]")
		}},
	{"raw page", "a bit; a number if it fits",
		func(p *pen, x, y float64) {
			bits(p, x, y+18)
			p.text("s dim", x+82, y+38, "lost, stored")
			rawPage(p, x, y+66, 168, "2667")
			p.text("s dim", x, y+118, "full page: bit 31 alone")
		},
		func(p *pen, x, y float64) {
			bits(p, x, y+16)
			p.text("s dim", x+82, y+36, "lost, stored")
			rawPage(p, x, y+58, 284, "2667")
			p.text("s dim", x, y+106, "full page: bit 31 alone")
		}},
	{"mmap", "the same, beside a zero",
		func(p *pen, x, y float64) {
			bits(p, x, y+12)
			p.text("s dim", x+82, y+32, "lost, stored")
			rawPage(p, x, y+50, 168, "636")
			p.text("s dim", x, y+96, "on the front page:")
			p.text("m b s", x, y+114, "lost_events: 0")
			p.text("s dim", x, y+138, "seen with 636 lost")
		},
		func(p *pen, x, y float64) {
			bits(p, x, y+16)
			p.text("s dim", x+82, y+36, "lost, stored")
			rawPage(p, x, y+58, 284, "636")
			p.text("s dim", x, y+108, "on the front page:")
			p.text("m b s", x+134, y+108, "lost_events: 0")
			p.text("s dim", x, y+130, "seen with 636 lost")
		}},
	{"snapshot", "another buffer's past",
		func(p *pen, x, y float64) {
			exchange(p, x+8, y+16)
			p.text("m b s", x, y+110, "stats: overrun: 0")
			p.text("s dim", x, y+138, "seen with 726,450 lost")
		},
		func(p *pen, x, y float64) {
			exchange(p, x, y+16)
			p.text("s dim", x+168, y+32, "stats:")
			p.text("m b s", x+168, y+51, "overrun: 0")
			p.text("s dim", x, y+104, "seen with 726,450 lost")
		}},
	{"after a reboot", "nothing of it",
		func(p *pen, x, y float64) {
			p.text("m b s", x, y+40, "overrun:")
			p.text("h dim", x+76, y+44, "0")
			p.text("m b s", x, y+82, "header 7808/20000")
			p.text("m b s", x, y+100, "became 7808/7808")
			p.text("s dim", x, y+138, "seen with 12,192 lost")
		},
		func(p *pen, x, y float64) {
			p.text("m b s", x, y+35, "overrun:")
			p.text("h dim", x+76, y+39, "0")
			p.text("m b s", x+134, y+27, "header 7808/20000")
			p.text("m b s", x+134, y+45, "became 7808/7808")
			p.text("s dim", x, y+74, "seen with 12,192 lost")
		}},
}

// sixWindows: one loss, seen through six ways of reading.
func sixWindows() []byte {
	p := newPen(sixWindowsCaption, 574)
	p.rect("lost", 140, 12, 360, 52, 8)
	p.text("c l red", 320, 45, "2,667 events overwritten")
	const w, h, gap, top, between = 200.0, 212.0, 10.0, 112.0, 36.0
	// One bus above each row, the second fed between the panes of the first.
	p.line("line", 320, 64, 320, 88)
	for row := range 2 {
		y := 88 + float64(row)*(h+between)
		p.line("line", 110, y, 530, y)
		for col := range 3 {
			x := 110 + float64(col)*(w+gap)
			p.line("line", x, y, x, y+24)
		}
	}
	for _, x := range []float64{215, 425} {
		p.line("line", x, 88, x, 88+h+between)
	}
	for i, q := range windows {
		x, y := 10+float64(i%3)*(w+gap), top+float64(i/3)*(h+between)
		pane(p, x, y, w, h, 60)
		p.text("m b", x+16, y+30, q.name)
		p.text("s dim", x+16, y+50, q.how)
		q.draw(p, x+16, y+60)
	}
	return p.done()
}

// pane draws the frame of a window, whose name takes a height of head.
func pane(p *pen, x, y, w, h, head float64) {
	p.rect("white", x, y, w, h, 8)
	p.rect("pane", x, y, w, h, 8)
	p.line("line", x, y+head, x+w, y+head)
}

// sixWindowsNarrow has them one below the other.
func sixWindowsNarrow() []byte {
	heights := []float64{78, 66, 122, 146, 120, 90}
	const x, w, gap, head, first = 12.0, 316.0, 12.0, 42.0, 76.0
	end := first - gap
	for _, h := range heights {
		end += gap + head + h
	}
	p := newNarrowPen(sixWindowsCaption, end+12)
	p.rect("lost", x, 12, w, 48, 8)
	p.text("c l red", 170, 42, "2,667 events overwritten")
	p.line("line", 170, 60, 170, end-20)
	y := first
	for i, q := range windows {
		pane(p, x, y, w, head+heights[i], head)
		p.text("m b", x+16, y+27, q.name)
		p.text("s dim e", x+w-16, y+27, q.how)
		q.flat(p, x+16, y+head)
		y += head + heights[i] + gap
	}
	return p.done()
}
