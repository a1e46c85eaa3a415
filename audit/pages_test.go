package audit

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs/bundle"
)

// Bits of a sub-buffer's commit word.
const (
	pageMissed = 1 << 31 // events were lost before it
	pageStored = 1 << 30 // their number stands behind the data
)

// rawPage is a sub-buffer of a 64-bit little-endian kernel with 4 KiB pages: n
// records of 16 bytes, 1 µs apart, from stamp (ns) on.
func rawPage(stamp uint64, n int, flags uint32, lost uint64) string {
	page := make([]byte, 4096)
	binary.LittleEndian.PutUint64(page, stamp)
	data := page[16:16]
	for i := range n {
		delta := uint32(1000)
		if i == 0 {
			delta = 0
		}
		data = binary.LittleEndian.AppendUint32(data, delta<<5|3) // three words of payload
		data = binary.LittleEndian.AppendUint16(data, 5)          // the event's id
		data = append(data, make([]byte, 10)...)
	}
	if flags&pageStored != 0 {
		binary.LittleEndian.PutUint64(page[16+len(data):], lost)
	}
	binary.LittleEndian.PutUint64(page[8:], uint64(uint32(len(data))|flags))
	return string(page)
}

// inFolder writes the tree and audits it with files that lie in it.
func inFolder(t tree, names ...string) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		dir := t.write(tb)
		opt := Options{Sources: []Input{{Path: dir}}}
		for _, n := range names {
			opt.Sources = append(opt.Sources, Input{Path: filepath.Join(dir, filepath.FromSlash(n))})
		}
		return runWith(tb, opt)
	}
}

// bundled writes the tree as a bundle and audits that.
func bundled(t tree, settings map[string]string, opt Options) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		tb.Helper()
		name := filepath.Join(tb.TempDir(), "bundle")
		w, err := bundle.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		w.Manifest.Kernel, w.Manifest.Arch = "6.1.0", "x86_64"
		w.Manifest.Phases = []bundle.Phase{{Name: "after", Path: "."}}
		w.Manifest.Settings = settings
		for file, content := range t {
			if err := w.WriteFile(file, []byte(content)); err != nil {
				tb.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			tb.Fatal(err)
		}
		opt := opt
		opt.Sources = []Input{{Path: name}}
		return runWith(tb, opt)
	}
}

// witnessJSON is an independent count of one CPU: at least inner, at most outer.
func witnessJSON(mode string, inner, outer uint64) string {
	return fmt.Sprintf(`{"schema":"ringaudit.witness/v1","buffer":".","mode":%q,"why":"the command's own events","per_cpu":"exact",
"cpus":[{"cpu":0,"inner":%[2]d,"outer":%[3]d}],"total":{"inner":%[2]d,"outer":%[3]d},"probes":[]}
`, mode, inner, outer)
}
