package audit

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/ringaudit/ringaudit/tracefs"
)

// strictFS is a live tracefs on which every open that consumes events or changes
// what the kernel does fails the test.
type strictFS struct {
	fstest.MapFS
	t *testing.T
	// texts may be opened: nothing would stop.
	texts  bool
	mu     sync.Mutex
	opened []string
}

func (s *strictFS) Open(name string) (fs.File, error) {
	s.mu.Lock()
	s.opened = append(s.opened, name)
	s.mu.Unlock()
	switch base := path.Base(name); base {
	case "trace_pipe", "trace_pipe_raw", "snapshot_raw", "free_buffer", "trace_marker", "trace_marker_raw":
		s.t.Errorf("%s was opened: that consumes or changes what is audited", name)
	case "trace", "snapshot":
		if !s.texts {
			s.t.Errorf("%s was opened: on this kernel that stops the recording", name)
		}
	}
	return s.MapFS.Open(name)
}

func liveTracefs(files map[string]string) fstest.MapFS {
	all := map[string]string{
		"per_cpu/cpu0/stats":          "entries: 5\noverrun: 7\ncommit overrun: 0\nbytes: 200\noldest event ts:     1.000000\nnow ts:     2.000000\ndropped events: 0\nread events: 0\n",
		"per_cpu/cpu0/buffer_size_kb": "11\n", "per_cpu/cpu0/trace": "", "per_cpu/cpu0/trace_pipe": "", "per_cpu/cpu0/trace_pipe_raw": "",
		"per_cpu/cpu0/snapshot": "", "per_cpu/cpu0/snapshot_raw": "", "per_cpu/cpu0/buffer_meta": "",
		"buffer_size_kb": "11\n", "trace": "# tracer: nop\n#\n# entries-in-buffer/entries-written: 5/12   #P:1\n#\n", "trace_pipe": "", "snapshot": "",
		"free_buffer": "", "trace_marker": "", "trace_marker_raw": "", "tracing_on": "1\n", "options/overwrite": "1\n", "trace_clock": "[local] global\n",
		"events/header_page": "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n",
	}
	for name, text := range files {
		all[name] = text
	}
	m := fstest.MapFS{}
	for name, text := range all {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// A live audit opens nothing that consumes or changes, reads the texts only
// where that cannot stop the recording, and says what it left alone.
func TestLiveAuditTouchesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		texts bool
	}{
		{"recording, kernel without pause-on-trace", nil, false},
		{"recording, pause-on-trace is 1", map[string]string{"options/pause-on-trace": "1\n"}, false},
		{"recording, pause-on-trace is 0", map[string]string{"options/pause-on-trace": "0\n"}, true},
		{"stopped, kernel without pause-on-trace", map[string]string{"tracing_on": "0\n"}, true},
		{"boot-mapped and empty", map[string]string{"tracing_on": "0\n", "last_boot_info": "# Current\n",
			"per_cpu/cpu0/stats": "entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\noldest event ts:     0.000000\nnow ts:     2.000000\ndropped events: 0\nread events: 0\n"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &strictFS{MapFS: liveTracefs(c.files), t: t, texts: c.texts}
			a := runWith(t, Options{Sources: []Input{{Path: "/sys/kernel/tracing", FS: tracefs.Guard(s), Live: true}}})
			if got := slices.Contains(s.opened, "trace"); got != c.texts {
				t.Errorf("trace was opened: %v, want %v", got, c.texts)
			}
			noted := slices.ContainsFunc(a.Sources[0].Notes, func(n string) bool { return strings.Contains(n, "trace") })
			if !c.texts && !noted {
				t.Errorf("nothing says that trace was left alone: %q", a.Sources[0].Notes)
			}
			b := buffer(t, a, "top")
			if c.files["per_cpu/cpu0/stats"] == "" && b.Ledger.Count(0, Overwritten) != Exactly(7) {
				t.Errorf("overwritten %v, want 7", b.Ledger.Count(0, Overwritten))
			}
		})
	}
}

// movingFS prints other counters at every read, as a ring does that is written.
type movingFS struct {
	fstest.MapFS
	mu    sync.Mutex
	reads int
}

func (m *movingFS) Open(name string) (fs.File, error) {
	if name == "per_cpu/cpu0/stats" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reads++
		text := strings.Replace(string(liveTracefs(nil)[name].Data), "overrun: 7", "overrun: "+strings.Repeat("1", min(m.reads, 3)), 1)
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	return m.MapFS.Open(name)
}

// What differs between the two reads of a live buffer is an interval.
func TestLiveBufferIsReadTwice(t *testing.T) {
	m := &movingFS{MapFS: liveTracefs(nil)}
	a := runWith(t, Options{Sources: []Input{{Path: "/sys/kernel/tracing", FS: m, Live: true}}})
	b := buffer(t, a, "top")
	got := b.Ledger.Count(0, Overwritten)
	if got.Open || got.Lo == got.Hi {
		t.Errorf("overwritten is %v after two reads that differ, want an interval", got)
	}
	if b.Ledger.Count(0, Kept) != Exactly(5) {
		t.Errorf("kept %v, want 5: both reads say so", b.Ledger.Count(0, Kept))
	}
	if len(findings(a, "torn-read")) != 1 {
		t.Errorf("findings %v, want one torn-read", a.Findings)
	}
}
