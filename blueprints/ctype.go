package blueprints

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// maxDepth bounds how deep a type may be nested: a kernel's own types need
// about ten, a forged file may be circular.
const maxDepth = 64

// maxParts bounds of how many parts a declaration is written: a kernel's own
// need a few dozen, a forged one may branch at every level.
const maxParts = 1000

// maxFields bounds how many fields a layout has, for the same reason.
const maxFields = 100_000

// cDecl writes a declaration of name as C does; an empty name gives the type
// alone.
func cDecl(t btf.Type, name string) string {
	d := declaration{left: maxParts}
	return d.declare(t, name, 0)
}

// declaration is one that is being written.
type declaration struct {
	left int // parts that may still be written
}

func (d *declaration) declare(t btf.Type, inner string, depth int) string {
	if d.left--; depth > maxDepth || d.left < 0 {
		return "… " + inner
	}
	switch t := t.(type) {
	case *btf.Pointer:
		return d.declare(t.Target, pointerTo(t.Target, "*"+inner), depth+1)
	case *btf.Array:
		n := ""
		if t.Nelems > 0 {
			n = strconv.FormatUint(uint64(t.Nelems), 10)
		}
		return d.declare(t.Type, inner+"["+n+"]", depth+1)
	case *btf.FuncProto:
		return d.declare(t.Return, inner+"("+d.params(t, depth)+")", depth+1)
	case *btf.Const:
		return d.qualify("const", t.Type, inner, depth)
	case *btf.Volatile:
		return d.qualify("volatile", t.Type, inner, depth)
	case *btf.Restrict:
		return d.qualify("restrict", t.Type, inner, depth)
	case *btf.TypeTag:
		return d.declare(t.Type, inner, depth+1)
	case *btf.Func:
		return d.declare(t.Type, inner, depth+1)
	}
	base := baseName(t)
	if inner == "" || strings.HasPrefix(inner, "[") {
		return base + inner
	}
	return base + " " + inner
}

// pointerTo puts a pointer's declarator in parentheses where what it points to
// would bind tighter.
func pointerTo(target btf.Type, inner string) string {
	for depth := 0; depth < maxDepth; depth++ {
		switch t := target.(type) {
		case *btf.Const:
			target = t.Type
		case *btf.Volatile:
			target = t.Type
		case *btf.TypeTag:
			target = t.Type
		case *btf.Array, *btf.FuncProto:
			return "(" + inner + ")"
		default:
			return inner
		}
	}
	return inner
}

// qualify puts a qualifier where C has it: behind the star of a pointer, before
// anything else.
func (d *declaration) qualify(word string, t btf.Type, inner string, depth int) string {
	if p, ok := t.(*btf.Pointer); ok {
		star := "*" + word
		if inner != "" {
			star += " " + inner
		}
		return d.declare(p.Target, pointerTo(p.Target, star), depth+1)
	}
	return word + " " + d.declare(t, inner, depth+1)
}

func (d *declaration) params(p *btf.FuncProto, depth int) string {
	if len(p.Params) == 0 {
		return "void"
	}
	var out []string
	for i, a := range p.Params {
		if d.left < 0 {
			return strings.Join(append(out, "…"), ", ")
		}
		// BTF writes ", ..." as a last parameter of type void without a name.
		if _, void := a.Type.(*btf.Void); void && i == len(p.Params)-1 && a.Name == "" {
			out = append(out, "...")
			continue
		}
		out = append(out, d.declare(a.Type, a.Name, depth+1))
	}
	return strings.Join(out, ", ")
}

// intNames writes the kernel's usual words for what the compiler calls
// otherwise.
var intNames = map[string]string{
	"long unsigned int": "unsigned long", "long int": "long", "long long unsigned int": "unsigned long long",
	"long long int": "long long", "short unsigned int": "unsigned short", "short int": "short", "_Bool": "bool",
}

func baseName(t btf.Type) string {
	switch t := t.(type) {
	case nil:
		return "void"
	case *btf.Void:
		return "void"
	case *btf.Int:
		if n, ok := intNames[t.Name]; ok {
			return n
		}
		return t.Name
	case *btf.Struct:
		return tagged("struct", t.Name)
	case *btf.Union:
		return tagged("union", t.Name)
	case *btf.Enum:
		return tagged("enum", t.Name)
	case *btf.Fwd:
		return tagged(t.Kind.String(), t.Name)
	}
	if n := t.TypeName(); n != "" {
		return n
	}
	return fmt.Sprintf("%T", t)
}

func tagged(word, name string) string {
	if name == "" {
		return word + " {…}"
	}
	return word + " " + name
}

// sizeOf is the size of a type in bytes, with pointers of this kernel's size;
// ok is false where the type has none (a forward declaration, a circle).
func (b *BTF) sizeOf(t btf.Type) (size uint64, ok bool) {
	n := uint64(1)
	for depth := 0; depth < maxDepth; depth++ {
		switch u := t.(type) {
		case *btf.Pointer:
			return n * uint64(b.pointer), true
		case *btf.Array:
			n *= uint64(u.Nelems)
			if n > 1<<40 {
				return 0, false
			}
			t = u.Type
		case *btf.Const:
			t = u.Type
		case *btf.Volatile:
			t = u.Type
		case *btf.Restrict:
			t = u.Type
		case *btf.TypeTag:
			t = u.Type
		case *btf.Typedef:
			t = u.Type
		case *btf.Int:
			return n * uint64(u.Size), true
		case *btf.Float:
			return n * uint64(u.Size), true
		case *btf.Enum:
			return n * uint64(u.Size), true
		case *btf.Struct:
			return n * uint64(u.Size), true
		case *btf.Union:
			return n * uint64(u.Size), true
		default:
			return 0, false
		}
	}
	return 0, false
}
