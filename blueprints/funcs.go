package blueprints

import (
	"errors"
	"fmt"
	"strings"
)

// macro is where a tree defines a macro.
type macro struct {
	version, path string
	line          int
}

// funcsText is the text of section 7: each function as the kernels declare it.
// A name that a kernel lacks is said to be no symbol in that build, and where a
// tree defines it as a macro, to be a macro. trees are the versions of the trees
// that macros were looked up in, oldest first.
func funcsText(names []string, kernels []*BTF, macros map[string][]macro, trees []string) (text string, problems map[string]string) {
	problems = map[string]string{}
	used := map[string]bool{}
	var list strings.Builder
	for _, name := range names {
		var (
			forms   []string                // signatures, in order of appearance
			of      = map[string][]string{} // kernels of each
			without []string
		)
		for _, k := range kernels {
			sig, err := k.Signature(name)
			switch {
			case err == nil:
			case k.notCut(name):
				problems[name] = fmt.Sprintf("%s was cut without %s, so that it says nothing of it", k.Path, name)
				continue
			case errors.Is(err, errNoType):
				without = append(without, k.Label())
				continue
			default:
				problems[name] = fmt.Sprintf("%s: %v", k.Path, err)
				continue
			}
			if of[sig] == nil {
				forms = append(forms, sig)
			}
			of[sig] = append(of[sig], k.Label())
		}
		if problems[name] != "" {
			continue
		}
		for _, sig := range forms {
			fmt.Fprintf(&list, "- `%s`", sig)
			if len(of[sig]) < len(kernels) {
				fmt.Fprintf(&list, " in %s", strings.Join(of[sig], ", "))
			}
			list.WriteString("\n")
		}
		if len(without) == 0 {
			continue
		}
		build := "this build"
		if len(kernels) > 1 {
			build = "the build of " + strings.Join(without, ", ")
		}
		fmt.Fprintf(&list, "- `%s`: no symbol in %s", name, build)
		for i, m := range macros[name] {
			used[m.version] = true
			if i == 0 {
				list.WriteString("; a macro of this name: ")
			} else {
				list.WriteString(", ")
			}
			fmt.Fprintf(&list, "`%s:%d` in %s", m.path, m.line, m.version)
		}
		list.WriteString("\n")
	}

	var b strings.Builder
	writeSources(&b, kernels)
	for _, v := range trees {
		if used[v] {
			b.WriteString(Source{Kind: "tree", Kernel: v, Evidence: true}.marker() + "\n")
		}
	}
	if len(names) == 0 {
		b.WriteString("\nThe header of this blueprint names no functions.\n")
		return b.String(), problems
	}
	fmt.Fprintf(&b, "\nAs declared in %s, from BTF. A name that BTF lacks was inlined in all its places, is a macro, or is not built in.\n\n", labels(kernels))
	b.WriteString(list.String())
	return b.String(), problems
}
