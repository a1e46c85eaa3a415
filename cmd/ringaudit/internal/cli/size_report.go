package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ringaudit/ringaudit/audit"
)

// sizingSchema names the form of size --from --format json. Within v1 changes
// only add.
const sizingSchema = "ringaudit.size/v1"

type sizingJSON struct {
	Schema      string             `json:"schema"`
	HoldSeconds string             `json:"hold_seconds,omitempty"`
	Buffers     []bufferSizingJSON `json:"buffers"`
}

type bufferSizingJSON struct {
	Name        string          `json:"name"`
	PageBytes   uint64          `json:"page_bytes,omitempty"`
	HeaderBytes uint64          `json:"header_bytes,omitempty"`
	SubbufBytes uint64          `json:"subbuf_bytes,omitempty"`
	UsableBytes uint64          `json:"usable_bytes,omitempty"`
	Hold        *needJSON       `json:"hold,omitempty"`    // one buffer_size_kb for all CPUs
	NoLoss      *needJSON       `json:"no_loss,omitempty"` // one buffer_size_kb for all CPUs
	CPUs        []cpuSizingJSON `json:"cpus"`
}

type cpuSizingJSON struct {
	CPU             int         `json:"cpu"`
	Subbufs         audit.Count `json:"subbufs"`
	EventsPerSubbuf audit.Count `json:"events_per_subbuf"`
	EventBytes      audit.Count `json:"event_bytes"`
	EventsPerSecond audit.Count `json:"events_per_second"`
	WindowSeconds   string      `json:"window_seconds,omitempty"`
	Stall           *stallJSON  `json:"worst_stall,omitempty"`
	Hold            *needJSON   `json:"hold,omitempty"`
	NoLoss          *needJSON   `json:"no_loss,omitempty"`
}

type stallJSON struct {
	Events  audit.Count `json:"events"`
	Seconds string      `json:"seconds,omitempty"`
}

type needJSON struct {
	RequestKB   *uint64          `json:"request_kb,omitempty"` // absent: no size can be promised
	Subbufs     audit.Count      `json:"subbufs"`
	MemoryBytes audit.Count      `json:"memory_bytes"`
	Confidence  audit.Confidence `json:"confidence"`
	Why         []string         `json:"why"`
}

func needOf(n *audit.Need) *needJSON {
	if n == nil {
		return nil
	}
	j := &needJSON{Subbufs: n.Subbufs, MemoryBytes: n.MemoryBytes, Confidence: n.Confidence, Why: n.Why}
	if n.RequestKB > 0 {
		j.RequestKB = &n.RequestKB
	}
	if j.Why == nil {
		j.Why = []string{}
	}
	return j
}

func writeSizingJSON(w io.Writer, want audit.SizingOptions, sized []audit.BufferSizing) error {
	doc := sizingJSON{Schema: sizingSchema, Buffers: []bufferSizingJSON{}}
	if want.Hold > 0 {
		doc.HoldSeconds = plainSeconds(uint64(want.Hold))
	}
	for _, s := range sized {
		b := bufferSizingJSON{
			Name: s.Buffer.Name, PageBytes: s.Geometry.PageBytes, HeaderBytes: s.Geometry.HeaderBytes,
			SubbufBytes: s.Geometry.SubbufBytes, UsableBytes: s.Geometry.UsableBytes,
			Hold: needOf(s.Hold), NoLoss: needOf(s.NoLoss), CPUs: []cpuSizingJSON{},
		}
		for _, c := range s.CPUs {
			j := cpuSizingJSON{
				CPU: c.CPU, Subbufs: c.Subbufs, EventsPerSubbuf: c.PerSubbuf, EventBytes: c.EventBytes,
				EventsPerSecond: c.PerSecond, Hold: needOf(c.Hold), NoLoss: needOf(c.NoLoss),
			}
			if c.WindowNS.OK {
				j.WindowSeconds = plainSeconds(c.WindowNS.V)
			}
			if c.Stall != nil {
				j.Stall = &stallJSON{Events: c.Stall.Events}
				if c.Stall.Lasted.OK {
					j.Stall.Seconds = plainSeconds(c.Stall.Lasted.V)
				}
			}
			b.CPUs = append(b.CPUs, j)
		}
		doc.Buffers = append(doc.Buffers, b)
	}
	return writeJSONLine(w, doc)
}

// plainSeconds is nanoseconds as seconds, with as many decimals as they need
// and six at least, as the kernel prints them.
func plainSeconds(ns uint64) string {
	s := fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9)
	return strings.TrimSuffix(s, "000")
}

func writeSizingText(w io.Writer, want audit.SizingOptions, sized []audit.BufferSizing) error {
	var b strings.Builder
	for i, s := range sized {
		if i > 0 {
			b.WriteByte('\n')
		}
		sizingText(&b, want, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sizingText(b *strings.Builder, want audit.SizingOptions, s audit.BufferSizing) {
	fmt.Fprintf(b, "%s", s.Buffer.Name)
	if s.Geometry.UsableBytes > 0 {
		fmt.Fprintf(b, " · sub-buffers of %s bytes, %s usable", group(s.Geometry.SubbufBytes), group(s.Geometry.UsableBytes))
	}
	b.WriteString("\n")
	rows := [][]string{{"cpu", "sub-buffers", "bytes an event", "events a second", "window held"}}
	head := &rows[0]
	if want.Hold > 0 {
		*head = append(*head, "to hold "+shortSeconds(want.Hold))
	}
	if want.NoLoss {
		*head = append(*head, "to lose nothing")
	}
	for _, c := range s.CPUs {
		row := []string{fmt.Sprint(c.CPU), intervalText(c.Subbufs), intervalText(c.EventBytes), intervalText(c.PerSecond), "–"}
		if c.WindowNS.OK {
			row[4] = plainSeconds(c.WindowNS.V) + " s"
		}
		for _, n := range []*audit.Need{c.Hold, c.NoLoss} {
			if n != nil {
				row = append(row, needText(n))
			}
		}
		rows = append(rows, row)
	}
	writeColumns(b, rows)
	for _, c := range s.CPUs {
		if st := c.Stall; st != nil {
			fmt.Fprintf(b, "cpu %d: the worst stall of the reader cost %s events", c.CPU, intervalText(st.Events))
			if st.Lasted.OK {
				fmt.Fprintf(b, " in %s s", plainSeconds(st.Lasted.V))
			}
			b.WriteByte('\n')
		}
	}
	adviceText(b, "to hold "+shortSeconds(want.Hold), s.Hold)
	adviceText(b, "to lose nothing", s.NoLoss)
	whyText(b, s)
}

// adviceText is what to write to buffer_size_kb for all CPUs.
func adviceText(b *strings.Builder, purpose string, n *audit.Need) {
	if n == nil {
		return
	}
	fmt.Fprintf(b, "\n%s: ", purpose)
	switch {
	case n.Confidence == audit.NoEvidence:
		b.WriteString("no evidence")
	case n.RequestKB > 0:
		fmt.Fprintf(b, "echo %d > buffer_size_kb  (%s sub-buffers a CPU, %s bytes for all CPUs; %s)",
			n.RequestKB, group(n.Subbufs.Hi), group(n.MemoryBytes.Hi), n.Confidence)
	default:
		fmt.Fprintf(b, "at least %s sub-buffers a CPU, %s bytes for all CPUs; how many, the evidence does not tell", group(n.Subbufs.Lo), group(n.MemoryBytes.Lo))
	}
	b.WriteByte('\n')
	for _, why := range n.Why {
		fmt.Fprintf(b, "  · %s\n", why)
	}
}

// whyText is what the needs rest on, each sentence once with the CPUs that it
// is true of.
func whyText(b *strings.Builder, s audit.BufferSizing) {
	var order []string
	cpus := map[string][]string{}
	for _, c := range s.CPUs {
		for _, n := range []*audit.Need{c.Hold, c.NoLoss} {
			if n == nil {
				continue
			}
			for _, why := range n.Why {
				id := fmt.Sprint(c.CPU)
				if cpus[why] == nil {
					order = append(order, why)
				}
				if !slices.Contains(cpus[why], id) {
					cpus[why] = append(cpus[why], id)
				}
			}
		}
	}
	if len(order) == 0 {
		return
	}
	b.WriteString("\nthis rests on\n")
	for _, why := range order {
		if len(cpus[why]) == len(s.CPUs) {
			fmt.Fprintf(b, "  · %s\n", why)
			continue
		}
		fmt.Fprintf(b, "  · cpu %s: %s\n", strings.Join(cpus[why], ","), why)
	}
}

func needText(n *audit.Need) string {
	switch {
	case n.Confidence == audit.NoEvidence:
		return "no evidence"
	case n.RequestKB > 0:
		return group(n.RequestKB) + " kB"
	}
	return "≥ " + group(n.Subbufs.Lo) + " sub-buffers"
}

func intervalText(c audit.Count) string {
	switch {
	case c.Exact():
		return group(c.Lo)
	case c.IsUnknown():
		return "–"
	case c.Open:
		return "≥ " + group(c.Lo)
	}
	return group(c.Lo) + "–" + group(c.Hi)
}

func shortSeconds(d time.Duration) string {
	s := strings.TrimRight(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second), "0")
	return strings.TrimSuffix(s, ".") + " s"
}

// writeColumns writes rows under a head, numbers to the right.
func writeColumns(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, r := range rows {
		for i, cell := range r {
			b.WriteString(strings.Repeat(" ", width[i]-len([]rune(cell))+min(i, 1)*2) + cell)
		}
		b.WriteByte('\n')
	}
}
