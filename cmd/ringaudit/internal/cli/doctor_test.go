package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

func stateOf(d *diagnosis, name string) checkState {
	for _, c := range d.Checks {
		if c.Name == name {
			return c.State
		}
	}
	return ""
}

func TestDoctor(t *testing.T) {
	machineRoot := func(more map[string]string) fs.FS {
		m := fstest.MapFS{}
		for name, text := range map[string]string{
			"proc/sys/kernel/osrelease": "6.1.0-57\n", "proc/sys/kernel/arch": "x86_64\n",
			"sys/devices/system/cpu/online": "0-1\n", "sys/devices/system/cpu/possible": "0-3\n",
			"sys/kernel/btf/vmlinux": "x", "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
			"proc/self/uid_map": "         0          0 4294967295\n", "proc/sys/kernel/unprivileged_bpf_disabled": "2\n",
		} {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
		for name, text := range more {
			m[name] = &fstest.MapFile{Data: []byte(text)}
			if text == "absent" {
				delete(m, name)
			}
		}
		return m
	}
	tree := func(more map[string]string) fs.FS {
		w := watched(t) // fails when something is opened that must not be
		for name, text := range map[string]string{
			"events/raw_syscalls/sys_enter/format": "x", "kprobe_events": "", "available_tracers": "function nop\n", "snapshot": "#\n",
			"buffer_subbuf_size_kb": "4\n", "error_log": "", "recursed_functions": "",
		} {
			w.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
		}
		for name, text := range more {
			w.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
			if text == "absent" {
				delete(w.MapFS, name)
			}
		}
		return tracefs.Guard(w)
	}
	whole := func() *machine {
		return &machine{goos: "linux", root: machineRoot(nil), tracefs: tree(nil), mountPath: "/sys/kernel/tracing", pageBytes: 4096}
	}
	for _, c := range []struct {
		name    string
		m       func() *machine
		audit   bool
		missing []string
		says    []string
	}{
		{"all there", whole, true, nil, []string{"/sys/kernel/tracing", "6.1.0-57", "0-1 online of 0-3", "stats of 2 CPUs"}},
		{"not mounted", func() *machine {
			m := whole()
			m.tracefs, m.mountErr = nil, &live.MountError{Reason: live.NotMounted, Detail: "no tracefs is mounted", Hint: "mount -t tracefs"}
			return m
		}, false, []string{"tracefs"}, []string{"not mounted", "→ mount -t tracefs"}},
		{"no permission", func() *machine {
			m := whole()
			m.euid, m.tracefs = 1000, nil
			m.mountErr = &live.MountError{Reason: live.NoPermission, Path: "/sys/kernel/tracing", Detail: "mode 0700"}
			return m
		}, false, []string{"root", "tracefs", "bpf-unprivileged"}, []string{"user 1000", "mode 0700"}},
		{"lockdown", func() *machine {
			m := whole()
			m.root = machineRoot(map[string]string{"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"})
			return m
		}, true, []string{"lockdown"}, []string{"confidentiality"}},
		{"container", func() *machine {
			m := whole()
			m.root = machineRoot(map[string]string{"proc/self/uid_map": "0 100000 65536\n", "sys/kernel/btf/vmlinux": "absent"})
			return m
		}, true, []string{"user-namespace", "btf"}, []string{"user namespace"}},
		{"old kernel", func() *machine {
			m := whole()
			m.tracefs = tree(map[string]string{"tracing_on": "1\n", "buffer_subbuf_size_kb": "absent", "error_log": "absent", "recursed_functions": "absent", "kprobe_events": "absent",
				"available_tracers": "nop\n", "snapshot": "absent", "events/raw_syscalls/sys_enter/format": "absent", "trace_clock": "local [counter]\n"})
			return m
		}, true, []string{"trace-text", "events", "kprobes", "function-tracer", "snapshot-buffer", "sub-buffer-size", "error-log", "recursed-functions", "clock"}, []string{"counter does not count seconds", "stop the recording"}},
		{"left behind", func() *machine {
			m := whole()
			m.leftovers = []live.Leftover{{Name: "ringaudit-1-2-3", Kind: "instance"}}
			return m
		}, true, []string{"leftovers"}, []string{"instance ringaudit-1-2-3", "--cleanup"}},
		{"hidden", func() *machine {
			m := whole()
			m.tracefs = tracefs.Guard(fstest.MapFS{"README": {}})
			return m
		}, false, []string{"counters", "header-page", "trace-text", "instances", "events", "kprobes", "function-tracer", "snapshot-buffer", "sub-buffer-size", "error-log", "recursed-functions"}, nil},
		{"another system", func() *machine { return &machine{goos: "darwin"} }, false, []string{"system"}, []string{"darwin", "--print-script"}},
	} {
		d := c.m().examine()
		var missing []string
		for _, k := range d.Checks {
			if k.State == checkMissing {
				missing = append(missing, k.Name)
				if k.Found == "" || k.For == "" {
					t.Errorf("%s: %+v says too little", c.name, k)
				}
			}
		}
		if d.LiveAudit != c.audit || !slices.Equal(missing, c.missing) {
			t.Errorf("%s: live audit %v, missing %q; want %v, %q", c.name, d.LiveAudit, missing, c.audit, c.missing)
		}
		text := d.text()
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
	}
}

// A saved tracefs of a real kernel, as if it were mounted.
func TestDoctorOnACapture(t *testing.T) {
	dir := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64", "boot")
	m := &machine{goos: "linux", root: fstest.MapFS{}, tracefs: tracefs.Guard(os.DirFS(dir)), mountPath: dir, pageBytes: 4096}
	d := m.examine()
	if !d.LiveAudit || stateOf(d, "header-page") != checkOK || stateOf(d, "lockdown") != checkUnknown {
		t.Errorf("%+v", d)
	}
}

func TestDoctorCommandLine(t *testing.T) {
	env, out, errs := snapshotEnv()
	code := Main(env, []string{"doctor", "--format", "json"})
	var d diagnosis
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Schema != "ringaudit.doctor/v1" || len(d.Checks) == 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	want := exitUndecided
	if d.LiveAudit {
		want = exitOK
	}
	if code != want {
		t.Errorf("exit %d, want %d", code, want)
	}
	env, _, _ = snapshotEnv()
	if code := Main(env, []string{"doctor", "--format", "xml"}); code != exitUsage {
		t.Errorf("--format xml: exit %d", code)
	}
}
