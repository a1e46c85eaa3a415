package audit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// This file is about lines of a text that are nothing that is known: further
// lines of an event, of which any user can write some through trace_marker, or
// events that were damaged on their way.

// eventLike is what every form of an event line has: a process and, in brackets or
// before flags, a CPU.
var eventLike = regexp.MustCompile(`-[0-9]+ +(?:\([-0-9 ]+\) +)?(\[[0-9]{3,}\]|[0-9]+[.a-zA-Z#]{4,5} )`)

// findUnread counts the lines that may be records and could not be read.
func (c *Capture) findUnread() {
	n := c.Unmatched
	for _, l := range c.Section.Samples {
		if c.Section.Kind == tracefs.KindReport && strings.HasPrefix(l.Text, "ticks: ") {
			n-- // trace-cmd report prints the length of the trace there
			continue
		}
		if c.FirstUnread.Line == 0 {
			c.FirstUnread = c.evidence(l.Line, l.Text)
		}
		c.LikeRecords = c.LikeRecords || eventLike.MatchString(l.Text)
	}
	if c.Uncountable != "" || c.FirstUnread.Line == 0 {
		return
	}
	c.Unread = n
}

// checkUnread reports the lines that could not be read.
func (a *Audit) checkUnread(b *Buffer, r *Rule) {
	for _, c := range b.texts() {
		if c.Unread > 0 {
			f := Finding{Buffer: b.Name, Evidence: []Evidence{c.FirstUnread}, Severity: SeverityNote}
			is, it := "are", "they"
			if c.Unread == 1 {
				is, it = "is", "it"
			}
			f.Message = fmt.Sprintf("%s of %s %s no event, mark or header, the first is line %d: %s may be further lines of an event", counted(c.Unread, "line"), c.title(), is, c.FirstUnread.Line, it)
			if c.LikeRecords {
				f.Severity = SeverityWarning
				f.Message += ", or events that were damaged; they are counted as events that may be there"
			}
			a.emit(r, f)
		}
		if n := c.Text.LongLines; n > 0 && c.Section == c.Text.Sections[0] {
			is := "are"
			if n == 1 {
				is = "is"
			}
			a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{c.evidence(0, "")}, Severity: SeverityNote,
				Message: fmt.Sprintf("%s of %s %s longer than 64 kB, more than the kernel prints: the rest of each was not read", counted(uint64(n), "line"), c.title(), is)})
		}
	}
}
