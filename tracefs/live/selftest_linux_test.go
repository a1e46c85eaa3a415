package live

import (
	"testing"
)

func TestSelftest(t *testing.T) {
	m := liveMount(t)
	before := globalSettings(t, m)
	r, err := Selftest(m, SelftestOptions{Events: 5000})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 4 || !r.OK() {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Cases {
		// Whatever the kernel: what was written is kept, thrown away or refused.
		if c.Kept+c.Overwritten+c.Dropped+c.CommitOverrun != 5000 || c.Kept == 0 || c.Overwritten+c.Dropped == 0 {
			t.Errorf("%s: kept %d, overwritten %d, dropped %d", c.Name, c.Kept, c.Overwritten, c.Dropped)
		}
	}
	sameSettings(t, before, globalSettings(t, m))
}

// A count that is off by one is found, whichever it is.
func TestSelftestFindsFaults(t *testing.T) {
	good := SelftestCase{Writes: 100, Kept: 40, Overwritten: 60, HeaderKept: 40, HeaderWritten: 100, Got: 40, First: 61, Last: 100, Lost: 60, Marks: 1, Read: 40}
	good.compare(true, false, 0)
	if !good.OK() {
		t.Fatal(good.Wrong)
	}
	for name, spoil := range map[string]func(*SelftestCase){
		"kept":        func(c *SelftestCase) { c.Kept++ },
		"overwritten": func(c *SelftestCase) { c.Overwritten-- },
		"dropped":     func(c *SelftestCase) { c.Dropped++ },
		"refused":     func(c *SelftestCase) { c.Refused++ },
		"header kept": func(c *SelftestCase) { c.HeaderKept++ },
		"header":      func(c *SelftestCase) { c.HeaderWritten++ },
		"got":         func(c *SelftestCase) { c.Got-- },
		"last":        func(c *SelftestCase) { c.Last-- },
		"lost":        func(c *SelftestCase) { c.Lost-- },
		"bare mark":   func(c *SelftestCase) { c.Unnumbered++ },
		"read":        func(c *SelftestCase) { c.Read++ },
	} {
		c := good
		c.Wrong = nil
		spoil(&c)
		c.compare(true, false, 0)
		if c.OK() {
			t.Errorf("%s off by one is not found", name)
		}
	}
	full := SelftestCase{Writes: 100, Refused: 70, Kept: 30, Dropped: 70, HeaderKept: 30, HeaderWritten: 30, Got: 30, First: 1, Last: 30, Read: 30}
	full.compare(false, true, 0)
	if !full.OK() {
		t.Error(full.Wrong)
	}
}
