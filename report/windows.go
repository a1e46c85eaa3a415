package report

// end is where a window ends: at the clock when the counters were read, else at
// the last record.
func (w *Window) end() string {
	if w.Now != "" {
		return w.Now
	}
	return w.Newest
}

// last is the last record's stamp, or where that is not known the end. Pictures
// draw records that far.
func (w *Window) last() string {
	if w.Newest != "" {
		return w.Newest
	}
	return w.Now
}

// ends is the two ends of a window, for a table. Windows of CPUs that never
// recorded at the same time have none in common.
func (w *Window) ends(dash string) string {
	if w.length() == "" {
		return noneInCommon
	}
	return clean(w.Oldest) + " " + dash + " " + clean(w.end())
}

const noneInCommon = "none in common"

// length is how much time a window covers: its span. It is empty where the
// window ends before it begins.
func (w *Window) length() string {
	from, ok1 := parseStamp(w.Oldest, w.Unit)
	to, ok2 := parseStamp(w.end(), w.Unit)
	if ok1 && ok2 && to < from {
		return ""
	}
	return clean(w.Span)
}

// apart tells whether CPUs have windows, and no moment is in all of them.
func (b *Buffer) apart() bool {
	n, unit := 0, unitOf(b)
	var begin, end uint64
	for i := range b.CPUs {
		w := b.CPUs[i].Window
		if w == nil {
			continue
		}
		from, ok1 := parseStamp(w.Oldest, unit)
		to, ok2 := parseStamp(w.end(), unit)
		if !ok1 || !ok2 || w.Unit != unit {
			return false
		}
		if n == 0 {
			end = to
		}
		begin, end, n = max(begin, from), min(end, to), n+1
	}
	return n > 1 && end < begin
}
