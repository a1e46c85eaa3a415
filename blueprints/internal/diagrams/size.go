package main

// A request of 8 kB on a page of 4,096 bytes with a header of 16, as
// evidence/buffer-size shows it: 3 sub-buffers, 3 × 4,080 = 12,240 usable
// bytes, of which the file prints 11, and 4 × 4,096 = 16,384 bytes taken.
var fourNumbersCaption = caption{"four-numbers", "Asked, granted, printed, paid",
	"A request of 8,192 bytes covers two sub-buffers and 32 bytes of a third, because each loses 16 bytes to its header. " +
		"The ring has three sub-buffers and 12,240 usable bytes. The file prints 11. With the reader page, 16,384 bytes are taken."}

// answers are the four numbers: class, value, name, what it is.
var answers = []struct{ c, v, name, what string }{
	{"", "8", "asked", "kB written to the file"},
	{"blue", "12,240", "granted", "bytes for events"},
	{"red", "11", "printed", "in buffer_size_kb"},
	{"green", "16", "paid", "KiB on each CPU"},
}

// subBuffer draws one, w units wide, with a header drawn wider than it is.
func subBuffer(p *pen, x, y, w, h, hdr float64, reader bool) {
	c, t, label := "kept", "blue", "usable"
	if reader {
		c, t, label = "read", "green", "the reader's"
	}
	p.rect(c, x, y, w, h, 4)
	p.rect("lost", x, y, hdr, h, 3)
	p.text("m c b "+t, x+hdr+(w-hdr)/2, y+h/2-4, "4,080")
	p.text("s c dim", x+hdr+(w-hdr)/2, y+h/2+18, label)
}

// fourNumbers: what becomes of a request of 8 kB.
func fourNumbers() []byte {
	p := newPen(fourNumbersCaption, 376)
	const x0, page, gap = 18.0, 142.0, 6.0 // one sub-buffer is 142 units wide
	const hdr, data = 12.0, page - 12
	at := func(i int) float64 { return x0 + float64(i)*(page+gap) }
	// The request, at the scale of the sub-buffers' data.
	p.text("b", x0, 26, "asked: 8,192 bytes")
	p.rect("none", at(0)+hdr, 40, data, 26, 0)
	p.rect("none", at(1)+hdr, 40, data, 26, 0)
	p.rect("none", at(2)+hdr, 40, 5, 26, 0)
	p.text("s b", at(2)+hdr+13, 58, "32 bytes too many for two")

	const y, h = 86.0, 96.0
	for i := range 3 {
		subBuffer(p, at(i), y, page, h, hdr, false)
	}
	const out = 622 - page
	subBuffer(p, out, y, page, h, hdr, true)
	p.path("line", "M%s %sv8H%sv-8", x0, y+h+8, at(2)+page)
	p.text("s c", (x0+at(2)+page)/2, y+h+36, "the ring: 3 sub-buffers of 4,096 bytes")
	p.text("s red c", (x0+at(2)+page)/2, y+h+55, "each gives 16 bytes to its header")
	p.text("s c", out+page/2, y+h+22, "outside the ring")

	p.line("line", x0, 262, 622, 262)
	for i, n := range answers {
		x := x0 + float64(i)*154
		p.text("h "+n.c, x, 308, n.v)
		p.text("b", x, 334, n.name)
		p.text("s dim", x, 354, n.what)
	}
	return p.done()
}

// fourNumbersNarrow is the same with the reader's sub-buffer below the ring.
func fourNumbersNarrow() []byte {
	p := newNarrowPen(fourNumbersCaption, 576)
	const x0, page, gap = 14.0, 100.0, 6.0
	const hdr, data = 9.0, page - 9
	at := func(i int) float64 { return x0 + float64(i)*(page+gap) }
	p.text("b", x0, 26, "asked: 8,192 bytes")
	p.rect("none", at(0)+hdr, 40, data, 28, 0)
	p.rect("none", at(1)+hdr, 40, data, 28, 0)
	p.rect("none", at(2)+hdr, 40, 4, 28, 0)
	p.text("s b e", 326, 88, "32 bytes too many for two")

	const y, h = 106.0, 88.0
	for i := range 3 {
		subBuffer(p, at(i), y, page, h, hdr, false)
	}
	p.path("line", "M%s %sv8H%sv-8", x0, y+h+8, at(2)+page)
	p.text("s c", 170, y+h+36, "the ring: 3 sub-buffers of 4,096 bytes")
	p.text("s red c", 170, y+h+55, "each gives 16 bytes to its header")
	const y2 = y + h + 78
	subBuffer(p, x0, y2, page, h, hdr, true)
	p.text("s", x0+page+14, y2+h/2+5, "outside the ring")

	p.line("line", x0, 378, 326, 378)
	for i, n := range answers {
		x, y := x0+float64(i%2)*164, 422+float64(i/2)*96
		p.text("h "+n.c, x, y, n.v)
		p.text("b", x, y+25, n.name)
		p.text("s dim", x, y+44, n.what)
	}
	return p.done()
}
