package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/internal/fixtures"
)

func TestSizeRequest(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		// The object of the specification, to the byte.
		{[]string{"--request", "8K"}, `{"request_kb":8,"page_bytes":4096,"header_bytes":16,"usable_bytes":4080,"subbufs":3,"size_kb":11,"memory_bytes":16384}`},
		{[]string{"--request", "8"}, `{"request_kb":8,"page_bytes":4096,"header_bytes":16,"usable_bytes":4080,"subbufs":3,"size_kb":11,"memory_bytes":16384}`},
		// FACTS 4.4.
		{[]string{"--request", "1408", "--header", "12"}, `{"request_kb":1408,"page_bytes":4096,"header_bytes":12,"usable_bytes":4084,"subbufs":354,"size_kb":1411,"memory_bytes":1454080}`},
		{[]string{"--request", "8kB", "--page-size", "64K"}, `{"request_kb":8,"page_bytes":65536,"header_bytes":16,"usable_bytes":65520,"subbufs":2,"size_kb":127,"memory_bytes":196608}`},
		// The captures with sub-buffers of 16 kB print 79 after 64 was written.
		{[]string{"--request", "64", "--subbuf-kb", "16"}, `{"request_kb":64,"page_bytes":4096,"header_bytes":16,"usable_bytes":16368,"subbufs":5,"size_kb":79,"memory_bytes":98304}`},
		// 1 MiB = 1024 kB: 1048576/4080 = 257.004, so 258 sub-buffers.
		{[]string{"--request", "1M"}, `{"request_kb":1024,"page_bytes":4096,"header_bytes":16,"usable_bytes":4080,"subbufs":258,"size_kb":1027,"memory_bytes":1060864}`},
		{[]string{"--request", "1GiB"}, `{"request_kb":1048576,"page_bytes":4096,"header_bytes":16,"usable_bytes":4080,"subbufs":263173,"size_kb":1048579,"memory_bytes":1077960704}`},
	} {
		env, out, errs := snapshotEnv()
		code := Main(env, append([]string{"size", "--format", "json"}, c.args...))
		if code != 0 || strings.TrimSpace(out.String()) != c.want || errs.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s\nwant %s", c.args, code, out, errs, c.want)
		}
	}
	env, out, errs := snapshotEnv()
	if code := Main(env, []string{"size", "--request", "8", "--subbuf-kb", "9"}); code != 0 || !strings.Contains(errs.String(), "up to 16 kB") {
		t.Errorf("a sub-buffer size that is rounded: exit %d, %s", code, errs)
	}
	for _, want := range []string{"16,384 bytes", "2 sub-buffers of 16,384"} {
		if strings.Contains(want, "sub-buffers") && !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestSizeUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--request", ""}, {"--request", "0"}, {"--request", "-8"}, {"--request", "+8"}, {"--request", "8.5"}, {"--request", "8X"}, {"--request", "K"},
		{"--request", "8B"}, {"--request", "99999999999999999999"}, {"--request", "18014398509481984G"}, {"--request", "18446744073709551615"},
		{"--request", "4194304", "--header", "12"},
		{"--request", "8", "--page-size", "0"}, {"--request", "8", "--page-size", "4096K"}, {"--request", "8", "--page-size", "x"}, {"--request", "8", "--page-size", "4KK"},
		{"--request", "8", "--header", "8"}, {"--request", "8", "--subbuf-kb", "1024"}, {"--request", "8", "--subbuf-kb", "18446744073709551615"},
		{"--request", "8", "--hold", "1"}, {"--request", "8", "--target-loss", "none"}, {"--request", "8", "--format", "xml"}, {"--request", "8", "x"},
		{"--from", "x", "--target-loss", "some"}, {"--from", "x", "--hold", "0"}, {"--from", "x", "--hold", "-1"}, {"--from", "x", "--hold", "1e99"},
		{"--from", "x", "--hold", "x"}, {"--from", "x", "--hold", "99999999999999999999"}, {"--from", "x", "--hold", "1/0"},
	} {
		env, out, errs := snapshotEnv()
		if code := Main(env, append([]string{"size"}, args...)); code != exitUsage || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
		}
	}
	env, _, errs := snapshotEnv()
	if code := Main(env, []string{"size", "--from", filepath.Join(t.TempDir(), "no")}); code != exitUnreadable || !strings.Contains(errs.String(), "no such file") {
		t.Errorf("a source that is not there: exit %d, %s", code, errs)
	}
}

func TestParseHold(t *testing.T) {
	for s, want := range map[string]time.Duration{"10": 10 * time.Second, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute, "1.000000001": time.Second + 1, "2m30s": 150 * time.Second} {
		if got, err := parseHold(s); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
}

// The published example: counters of a 32-bit kernel, of which nothing but the
// stats file is left. 273 events in 3 sub-buffers, 44002 gone, 0.007252 s held.
func TestSizeFromPublishedExample(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stats")
	err := os.WriteFile(name, []byte("entries: 273\noverrun: 44002\ncommit overrun: 0\nbytes: 10920\noldest event ts:     2.109723\nnow ts:     2.116975\ndropped events: 0\nread events: 0\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	env, out, errs := snapshotEnv()
	code := Main(env, []string{"size", "--from", name, "--request", "8", "--header", "12", "--format", "json", "--target-loss", "none", "--hold", "0.007252"})
	var d sizingJSON
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || len(d.Buffers) != 1 || len(d.Buffers[0].CPUs) != 1 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	c := d.Buffers[0].CPUs[0]
	if c.Subbufs != audit.Exactly(3) || c.WindowSeconds != "0.007252" {
		t.Errorf("%v sub-buffers, window %s", c.Subbufs, c.WindowSeconds)
	}
	// 273 events in 2 to 3 sub-buffers: 91 to 137 each; 44275 events: 324.4 to 486.5.
	if want := audit.Between(325, 487); c.NoLoss.Subbufs != want || c.NoLoss.Confidence != audit.Measured {
		t.Errorf("to lose nothing: %+v, want %v", c.NoLoss, want)
	}
	// 487 sub-buffers of 4084 bytes are 1942.29 kB.
	if c.NoLoss.RequestKB == nil || *c.NoLoss.RequestKB != 1942 || c.NoLoss.MemoryBytes.Hi != 488*4096 {
		t.Errorf("to lose nothing: %+v", c.NoLoss)
	}
	// Whether recording was on is not known: the window may have been shorter.
	if c.Hold.Confidence != audit.AtLeastOnly || c.Hold.Subbufs.Lo != 2 || code != exitUndecided {
		t.Errorf("to hold its window: %+v, exit %d", c.Hold, code)
	}
}

func TestSizeFromCaptures(t *testing.T) {
	root := fixtures.Captures(t)
	k := filepath.Join(root, "x86_64-6.1.0-57-cloud-amd64")
	for _, c := range []struct {
		from string
		code int
		says []string
	}{
		{filepath.Join(k, "small-overwrite"), 0, []string{"commit overrun (5106 events) is not in it", "nobody read the buffer"}},
		{filepath.Join(k, "no-loss"), 0, []string{"the size at hand was enough"}},
		{filepath.Join(k, "small-overwrite", "trace"), exitUndecided, nil},
		{filepath.Join(k, "tracedat", "default.dat"), exitUndecided, []string{"give --request"}},
		{filepath.Join(k, "instance"), 0, []string{"foo ·", "top ·"}},
	} {
		env, out, errs := snapshotEnv()
		code := Main(env, []string{"size", "--from", c.from})
		if code != c.code || (c.says == nil && errs.Len() == 0) {
			t.Errorf("%s: exit %d, want %d: %s%s", c.from, code, c.code, out, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", c.from, want, out)
			}
		}
	}
}
