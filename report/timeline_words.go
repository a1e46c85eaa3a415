package report

import (
	"strconv"
	"strings"
)

// laneTitle is what a lane shows, in words.
func (t *timeline) laneTitle(l *lane) string {
	s := laneName(l, false)
	if l.held {
		s += ": records from " + t.stamp(l.from)
		if !l.vague {
			s += " to " + t.stamp(l.to) + " " + unitWord(t.unit)
		} else {
			s += " " + unitWord(t.unit) + " until the buffer was full"
		}
	} else {
		s += ": no record"
	}
	if n := l.note(unicodeGlyphs); n != "" {
		s += "; " + n
	}
	return s
}

// holeTitle is a hole in words.
func (t *timeline) holeTitle(h *stretch) string {
	s := events(h.events) + " lost"
	if h.kind != "" {
		s += " (" + h.kind + ")"
	}
	switch {
	case h.oldest:
		s += " before all that is left; since when and until when is not known"
	case h.openBegin:
		s += " before " + t.stamp(h.to) + " " + unitWord(t.unit)
	case h.openEnd:
		s += " after " + t.stamp(h.from) + " " + unitWord(t.unit)
	default:
		s += " between " + t.stamp(h.from) + " and " + t.stamp(h.to) + " " + unitWord(t.unit)
	}
	if h.inferred {
		s += "; the place is inferred"
	}
	return s
}

// describe is the picture in words, for who cannot see it.
func (t *timeline) describe(b *Buffer, lanes []lane) string {
	const most = 16
	var s strings.Builder
	s.WriteString("Buffer " + b.Name + ", " + strconv.Itoa(len(lanes)) + " lanes.")
	if len(lanes) == 1 {
		s.Reset()
		s.WriteString("Buffer " + b.Name + ", 1 lane.")
	}
	show := lanes
	if len(show) > most {
		show = worstLanes(show, most)
		s.WriteString(" Those that lost most:")
	}
	for i := range show {
		s.WriteString(" " + t.laneTitle(&show[i]) + ".")
	}
	if n := len(lanes) - len(show); n > 0 {
		s.WriteString(" " + strconv.Itoa(n) + " more.")
	}
	return s.String()
}
