package citations

import (
	"fmt"
	"strings"
	"testing"
)

func assertion(fields string) string {
	return fmt.Sprintf("[[assertions]]\nid = \"ring-A1\"\n%s\n", fields)
}

func TestAssertions(t *testing.T) {
	ring := `scope = "kernel/ring.c"` + "\n"
	for _, tt := range []struct {
		name, fields string
		state        State
		message      string
	}{
		{"setters, all of them", `kind = "only-setter"` + "\n" + ring + `subject = "ring->thrown_away"` + "\n" + `expect = ["ring_throw_away", "ring_reset"]`, OK, ""},
		{"a setter more than expected", `kind = "only-setter"` + "\n" + ring + `subject = "ring->thrown_away"` + "\n" + `expect = ["ring_throw_away"]`, Refuted,
			"also sets ring->thrown_away: ring_reset (line 87 of kernel/ring.c: local_set(&ring->thrown_away, 0);)"},
		{"an expected setter that is none", `kind = "only-setter"` + "\n" + ring + `subject = "ring->thrown_away"` + "\n" + `expect = ["ring_throw_away", "ring_reset", "ring_full"]`, Refuted, "expected and not found: ring_full"},
		{"member of anything", `kind = "only-setter"` + "\n" + ring + `subject = "->written"` + "\n" + `expect = ["ring_throw_away", "ring_write", "ring_reset"]`, OK, ""},
		{"in a folder", `kind = "only-setter"` + "\n" + `scope = "kernel/"` + "\n" + `subject = "ring->written"` + "\n" + `expect = ["ring_throw_away", "ring_write", "ring_reset"]`, OK, ""},
		{"count", `kind = "count"` + "\n" + ring + `subject = "seq_printf("` + "\n" + `count = 3`, OK, ""},
		{"count is wrong", `kind = "count"` + "\n" + ring + `subject = "seq_printf("` + "\n" + `count = 2`, Refuted, "stands 3 times in kernel/ring.c, expected twice"},
		{"count of none", `kind = "count"` + "\n" + ring + `subject = "kmalloc("` + "\n" + `count = 0`, OK, ""},
		{"count leaves comments out", `kind = "count"` + "\n" + ring + `subject = "oldest"` + "\n" + `count = 0`, OK, ""},
		{"count with comments", `kind = "count"` + "\n" + ring + `subject = "oldest"` + "\n" + "comments = true\n" + `count = 1`, OK, ""},
		{"absent, behind #if 0", `kind = "absent"` + "\n" + ring + `subject = "thrown_away = 77"`, OK, ""},
		{"absent is wrong", `kind = "absent"` + "\n" + ring + `subject = "goto out"`, Refuted, "stands in kernel/ring.c once, first on line 36"},
		{"absent in a symbol", `kind = "absent"` + "\n" + `scope = "kernel/ring.c#ring_read"` + "\n" + `subject = "goto out"`, OK, ""},
		{"absent from what is not there", `kind = "absent"` + "\n" + `scope = "kernel/ring.c#no_such"` + "\n" + `subject = "goto out"`, Gone, "has no no_such"},
		{"absent from no file", `kind = "absent"` + "\n" + `scope = "kernel/none.c"` + "\n" + `subject = "goto out"`, Gone, "kernel/none.c is not in"},
		{"absent from an empty folder", `kind = "absent"` + "\n" + `scope = "Documentation/"` + "\n" + `subject = "goto out"`, Gone, ""},
		{"order", `kind = "order"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `expect = ["spin_lock(", "ring_full(ring)", "spin_unlock("]`, OK, ""},
		{"order is wrong", `kind = "order"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `expect = ["ring->written++", "ring_throw_away("]`, Refuted, "stands on line 39, not before"},
		{"order of what is not there", `kind = "order"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `expect = ["spin_lock(", "schedule()"]`, Refuted, `"schedule()" is not in`},
		{"callers", `kind = "calls"` + "\n" + ring + `subject = "ring_full"` + "\n" + `expect = ["ring_write"]`, OK, ""},
		{"callers, one by its address", `kind = "calls"` + "\n" + `scope = "kernel/"` + "\n" + `subject = "ring_write"` + "\n" + `expect = ["other_user"]`, Refuted, "ring_fops"},
		{"callees", `kind = "calls"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `expect = ["ring_full", "ring_throw_away"]`, OK, ""},
		{"a callee too many", `kind = "calls"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `expect = ["ring_full", "ring_reset"]`, Refuted, "does not call ring_reset"},
		{"guarded by a condition", `kind = "guarded-by"` + "\n" + ring + `subject = "ring_throw_away(ring)"` + "\n" + `expect = ["ring_full(ring)"]`, OK, ""},
		{"guarded by an earlier exit", `kind = "guarded-by"` + "\n" + ring + `subject = "ring_throw_away(ring)"` + "\n" + `expect = ["!ring->overwrite"]`, OK, ""},
		{"guarded by a lock", `kind = "guarded-by"` + "\n" + `scope = "kernel/ring.c#ring_write"` + "\n" + `subject = "ring->written++"` + "\n" + `expect = ["spin_lock(&ring->lock)", "spin_unlock(&ring->lock)"]`, OK, ""},
		{"not guarded", `kind = "guarded-by"` + "\n" + ring + `subject = "ring->written++"` + "\n" + `expect = ["ring_full(ring)"]`, Refuted, "does not guard"},
		{"guarding nothing", `kind = "guarded-by"` + "\n" + ring + `subject = "no_such(ring)"` + "\n" + `expect = ["ring_full(ring)"]`, Refuted, "so nothing guards it"},
		{"formats", `kind = "format"` + "\n" + `scope = "kernel/ring.c#ring_stat"` + "\n" + `expect = ["written: %lu\n", "thrown away: %lu\n", "a line of two parts\n"]`, OK, ""},
		{"formats, C escapes kept", `kind = "format"` + "\n" + `scope = "kernel/ring.c#sys_ring_stat"` + "\n" + `expect = ['written: %lu\n', 'thrown away: %lu\n', 'a line of two parts\n']`, OK, ""},
		{"a format changed", `kind = "format"` + "\n" + `scope = "kernel/ring.c#ring_stat"` + "\n" + `expect = ["written: %lu\n", "lost: %lu\n", "a line of two parts\n"]`, Refuted, `format 2 of kernel/ring.c#ring_stat is "thrown away: %lu\n"`},
		{"a format more", `kind = "format"` + "\n" + `scope = "kernel/ring.c#ring_stat"` + "\n" + `expect = ["written: %lu\n"]`, Refuted, "2 formats more than expected"},
		{"a format less", `kind = "format"` + "\n" + `scope = "kernel/ring.c#ring_full"` + "\n" + `expect = ["written: %lu\n"]`, Refuted, "prints 0 formats"},
		{"for another version", `kind = "absent"` + "\n" + ring + `subject = "goto out"` + "\n" + `until = "6.11"`, NotInRange, ""},
		{"otherwise in this version", `kind = "count"` + "\n" + ring + `subject = "seq_printf("` + "\ncount = 9\n[[assertions.in]]\nversions = \"6.12\"\ncount = 3", OK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := oneSet(t, assertion(tt.fields))
			f := runCheck(t, s, nil, MemoryTree("small", Version{}, small(t))).Record("ring-A1").Findings[0]
			if f.State != tt.state || !strings.Contains(f.Message, tt.message) {
				t.Errorf("%s: %q, want %s: %q (found %v)", f.State, f.Message, tt.state, tt.message, f.Entry.Found)
			}
		})
	}
}

// What sets a variable, and what only looks like it.
func TestIsSet(t *testing.T) {
	for _, tt := range []struct {
		stmt string
		set  bool
	}{
		{"x->n = 1;", true}, {"x->n == 1;", false}, {"x->n != 1;", false}, {"x->n += 1;", true}, {"x->n <<= 1;", true},
		{"x->n++;", true}, {"--x->n;", true}, {"(x->n)++;", true}, {"y = x->n;", false}, {"x->n.m = 1;", false}, {"x->nn = 1;", false},
		{"x->n[3] = 1;", true}, {"y[x->n] = 1;", false}, {"a = x->n = 2;", true}, {"ax->n = 1;", false},
		{"local_set(&x->n, 0);", true}, {"local_read(&x->n);", false}, {"atomic_inc(&x->n);", true}, {"atomic_inc_return(&x->n);", true},
		{"READ_ONCE(x->n);", false}, {"WRITE_ONCE(x->n, 1);", true}, {"WRITE_ONCE(y, x->n);", false}, {"memcpy(&x->n, y, 3);", true},
		{"p = &x->n;", true}, {"f(a & x->n);", false}, {"f(a, (void *)&x->n);", true}, {"cmpxchg(&x->n, 1, 2);", true},
		{"smp_load_acquire(&x->n);", false}, {"if (x->n) y();", false}, {"return &x->n;", true}, {"set_bit(1, &x->n);", true},
		{"test_bit(1, &x->n);", false}, {"spin_lock(&x->n);", false}, {"x->n(3);", false}, {"swap(x->n, y);", true}, {"swap(y, x->n);", true},
		{"rcu_assign_pointer(x->n, y);", true}, {"f(x->n);", false}, {"b->x->n = 1;", true}, {"mutate(&x->n);", true},
	} {
		src := "void f(void)\n{\n\t" + tt.stmt + "\n}\n"
		files := map[string][]byte{"Makefile": small(t)["Makefile"], "x.c": []byte(src)}
		s := oneSet(t, assertion("kind = \"only-setter\"\nscope = \"x.c\"\nsubject = \"x->n\"\nexpect = [\"f\"]"))
		f := runCheck(t, s, nil, MemoryTree("small", Version{}, files)).Record("ring-A1").Findings[0]
		if (f.State == OK) != tt.set {
			t.Errorf("%s sets: %v, want %v (%s)", tt.stmt, f.State == OK, tt.set, f.Message)
		}
	}
}

// A member of anything: by pointer, by value, in an initialiser.
func TestIsSetMember(t *testing.T) {
	for _, tt := range []struct {
		stmt string
		set  bool
	}{
		{"a->n = 1;", true}, {"a.n = 1;", true}, {"a->b.n++;", true}, {"f(a)->n = 1;", true}, {"a[3].n = 1;", true}, {"struct x y = { .n = 1 };", true},
		{"b = a->n;", false}, {"a->n.m = 1;", false}, {"local_inc(&a->b->n);", true}, {"local_read(&a->n);", false}, {"n = 1;", false}, {"*a->n = 1;", true}, {"--a->n;", true}, {"(a->n)++;", true},
	} {
		src := "void f(void)\n{\n\t" + tt.stmt + "\n}\n"
		files := map[string][]byte{"Makefile": small(t)["Makefile"], "x.c": []byte(src)}
		s := oneSet(t, assertion("kind = \"only-setter\"\nscope = \"x.c\"\nsubject = \"->n\"\nexpect = [\"f\"]"))
		f := runCheck(t, s, nil, MemoryTree("small", Version{}, files)).Record("ring-A1").Findings[0]
		if (f.State == OK) != tt.set {
			t.Errorf("%s sets: %v, want %v (%s)", tt.stmt, f.State == OK, tt.set, f.Message)
		}
	}
}

func TestGuarded(t *testing.T) {
	for _, tt := range []struct {
		body string
		ok   bool
	}{
		{"if (g()) { s(); }", true}, {"if (g()) s();", true}, {"if (g()) a(); else s();", false}, {"if (g()) a(); s();", false},
		{"if (a && g()) { for (;;) { s(); } }", true}, {"if (!g()) return; s();", true}, {"if (g()) { a(); goto out; } s(); out: b();", true},
		{"g(); s();", true}, {"s(); g();", false}, {"g(); r(); s();", false}, {"g(); if (x) { r(); return; } s();", true},
		{"g(); if (x) { r(); } s();", false}, {"if (x) { g(); } s();", false}, {"{ g(); } s();", true}, {"g(); for_each_thing(x) { s(); }", true},
		{"switch (x) { case 1: g(); s(); break; }", true}, {"do { g(); } while (0); s();", true}, {"while (g()) s();", true},
		{"x = y ? g() : 0; s();", true}, {"if (g() && s()) a();", true}, {"if (s() && g()) a();", false},
	} {
		src := "void f(void)\n{\n\t" + tt.body + "\n}\n"
		files := map[string][]byte{"Makefile": small(t)["Makefile"], "x.c": []byte(src)}
		s := oneSet(t, assertion("kind = \"guarded-by\"\nscope = \"x.c\"\nsubject = \"s()\"\nexpect = [\"g()\", \"r()\"]"))
		f := runCheck(t, s, nil, MemoryTree("small", Version{}, files)).Record("ring-A1").Findings[0]
		if (f.State == OK) != tt.ok {
			t.Errorf("%s is guarded: %v, want %v (%s)", tt.body, f.State == OK, tt.ok, f.Message)
		}
	}
}
