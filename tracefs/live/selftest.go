package live

// SelftestOptions of [Selftest]. The zero value is good.
type SelftestOptions struct {
	Events   int // numbered writes in each case; 0: 20000
	BufferKB int // 0: 8
}

// SelftestCase is one case of a selftest: a known number of events, and what
// every place that counts them said. All numbers are events.
type SelftestCase struct {
	Name   string `json:"name"`   // "overwrite, text"
	Writes int    `json:"writes"` // numbered writes to trace_marker
	// Refused are the writes that the kernel answered with EBADF.
	Refused int `json:"refused"`

	// The counters, before anything was read.
	Kept          uint64 `json:"kept"`
	Overwritten   uint64 `json:"overwritten"`
	Dropped       uint64 `json:"dropped"`
	CommitOverrun uint64 `json:"commit_overrun"`

	// HeaderKept and HeaderWritten are the two numbers of the header of trace.
	HeaderKept    uint64 `json:"header_kept"`
	HeaderWritten uint64 `json:"header_written"`

	// What the reader got: lines of trace_pipe, or records in raw pages.
	Got   uint64 `json:"got"`
	First int    `json:"first"` // number of the first event got
	Last  int    `json:"last"`
	// Lost is the sum of the LOST lines, or of the counts stored in pages; Marks
	// is how many there were, Unnumbered those of them without a number.
	Lost       uint64 `json:"lost"`
	Marks      int    `json:"marks"`
	Unnumbered int    `json:"unnumbered"`
	Pages      int    `json:"pages,omitempty"`
	// Read is the counter "read events" when everything had been read.
	Read uint64 `json:"read"`

	// Wrong are the equalities that do not hold; empty if the case passed.
	Wrong []string `json:"wrong"`
}

// OK tells whether the case passed.
func (c *SelftestCase) OK() bool { return len(c.Wrong) == 0 }

// SelftestResult is what a selftest found.
type SelftestResult struct {
	Kernel   string         `json:"kernel"`
	Arch     string         `json:"arch"`
	CPU      int            `json:"cpu"`
	SizeKB   int64          `json:"size_kb"`  // granted
	Subbuf   int            `json:"subbuf"`   // bytes of a sub-buffer
	Capacity int            `json:"capacity"` // bytes of it for records
	Seconds  float64        `json:"seconds"`  // it took
	Cases    []SelftestCase `json:"cases"`
}

// OK tells whether all cases passed.
func (r *SelftestResult) OK() bool {
	for i := range r.Cases {
		if !r.Cases[i].OK() {
			return false
		}
	}
	return len(r.Cases) > 0
}
