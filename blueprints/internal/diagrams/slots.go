package main

import "strconv"

var sameCountCaption = caption{"same-count", "The same count, two different needs",
	"Two runs of a return probe with one instance. In the first, six calls sleep at the same time: one is followed, five are missed, six instances would be needed. " +
		"In the second, one long call holds the instance while five short calls pass one after another: five are missed, two instances would be enough."}

// call is one call of the probed function; 0 … 1 is the time that is drawn.
type call struct{ from, to float64 }

// The two runs.
func sleepers() (calls []call) {
	for i := range 6 {
		calls = append(calls, call{float64(i) * 0.012, 0.9 + float64(i)*0.012})
	}
	return calls
}

func longAndShort() []call {
	calls := []call{{0, 0.98}}
	for i := range 5 {
		f := 0.04 + float64(i)*0.13
		calls = append(calls, call{f, f + 0.1})
	}
	return calls
}

// run draws one run: its calls, each in a row of its own, step units apart, and
// the two numbers below. It returns where it ends.
func run(p *pen, x, y, w, step float64, title string, calls []call, need int) float64 {
	const bar = 20.0
	p.text("b", x, y, title)
	top := y + 22
	axis := top + float64(len(calls))*step + 18
	p.line("line", x, top, x, axis)
	p.arrow("line", "fillink", x, axis, x+w, axis)
	p.text("s dim e", x+w, axis+20, "time")
	for i, c := range calls {
		y := top + 8 + float64(i)*step
		cl, tx, s := "lost dash", "red", "missed"
		if i == 0 {
			cl, tx, s = "read", "green", "followed to its return"
		}
		bx, bw := x+8+c.from*(w-30), (c.to-c.from)*(w-30)
		p.rect(cl, bx, y, bw, bar, 5)
		if bw > 120 {
			p.text("s b c "+tx, bx+bw/2, y+15, s)
		} else {
			p.text("s b "+tx, bx+bw+6, y+15, s)
		}
	}
	end := axis + 50
	p.text("h red", x, end, "5")
	p.text("b", x+30, end-2, "misses in kprobe_profile")
	end += step + 10
	p.text("h blue", x, end, strconv.Itoa(need))
	p.text("b", x+30, end-2, "instances would do")
	return end
}

// sameCount: two runs with one instance and the same five misses. The first
// needs six instances, the second two.
func sameCount() []byte {
	p := newPen(sameCountCaption, 416)
	run(p, 20, 26, 284, 32, "Six sleepers at once", sleepers(), 6)
	end := run(p, 336, 26, 284, 32, "One long call, five short ones", longAndShort(), 2)
	p.line("line dash", 320, 14, 320, end+4)
	p.text("c b", 320, end+42, "The same count. It does not tell how many instances were missing.")
	return p.done()
}

// sameCountNarrow has the runs one below the other.
func sameCountNarrow() []byte {
	p := newNarrowPen(sameCountCaption, 764)
	end := run(p, 16, 26, 308, 28, "Six sleepers at once", sleepers(), 6)
	p.line("line dash", 16, end+24, 324, end+24)
	end = run(p, 16, end+58, 308, 28, "One long call, five short ones", longAndShort(), 2)
	p.lines("c b", 170, end+42, 21, "The same count. It does not tell", "how many instances were missing.")
	return p.done()
}
