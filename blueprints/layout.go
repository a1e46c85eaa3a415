package blueprints

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Layout is how one kernel build lays out one type in memory.
type Layout struct {
	Kind    string // struct, union, enum
	Name    string // as asked for; a typedef's own name
	Size    uint64 // bytes
	Fields  []Field
	Padding []Hole
	Values  []EnumValue // of an enum
}

// Field is a member; members of anonymous structures and unions stand among
// those of the type that holds them, as C reads them.
type Field struct {
	Name string
	Type string // as C writes it
	// Offset and Size are in bits, so that bit-fields need no second form.
	Offset, Size uint64
	Bits         bool // a bit-field
	Union        bool // shares its place with others
}

// Hole is padding: bytes that the compiler put in and no field uses.
type Hole struct {
	Offset, Size uint64 // bits
	After        string // the field before it; empty at the beginning
	Tail         bool   // at the end of the type
}

// EnumValue is a name of an enum with its value.
type EnumValue struct {
	Name  string
	Value string // decimal
}

// errNoType says that a kernel has no type of a name.
var errNoType = errors.New("no type of this name")

// Layout finds a type by name ("trace_buffer", "struct trace_buffer",
// "rb_time_t") and lays it out. A name that this kernel lacks is an error that
// wraps errNoType.
func (b *BTF) Layout(name string) (*Layout, error) {
	t, err := b.find(name)
	if err != nil {
		return nil, err
	}
	l := &Layout{Name: name}
	left := maxFields
	switch u := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		l.Kind, l.Size = "struct", uint64(u.Size)
		l.Fields, err = b.fields(u.Members, 0, false, 0, &left)
	case *btf.Union:
		l.Kind, l.Size = "union", uint64(u.Size)
		l.Fields, err = b.fields(u.Members, 0, true, 0, &left)
	case *btf.Enum:
		l.Kind, l.Size = "enum", uint64(u.Size)
		for _, v := range u.Values {
			text := fmt.Sprint(v.Value)
			if u.Signed {
				text = fmt.Sprint(int64(v.Value))
			}
			l.Values = append(l.Values, EnumValue{v.Name, text})
		}
		return l, nil
	default:
		return nil, fmt.Errorf("%s is %s, not a structure, union or enum", name, cDecl(u, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.Padding = padding(l.Fields, l.Size*8)
	return l, nil
}

// find looks a type up. A word before the name narrows it to that kind.
func (b *BTF) find(name string) (btf.Type, error) {
	kind, bare, ok := strings.Cut(name, " ")
	if !ok {
		kind, bare = "", name
	}
	types, err := b.spec.AnyTypesByName(bare)
	if errors.Is(err, btf.ErrNotFound) {
		return nil, errNoType
	}
	if err != nil {
		return nil, err
	}
	var typedef btf.Type
	for _, t := range types {
		switch t.(type) {
		case *btf.Struct:
			if kind == "" || kind == "struct" {
				return t, nil
			}
		case *btf.Union:
			if kind == "" || kind == "union" {
				return t, nil
			}
		case *btf.Enum:
			if kind == "" || kind == "enum" {
				return t, nil
			}
		case *btf.Typedef:
			if kind == "" || kind == "typedef" {
				typedef = t
			}
		}
	}
	if typedef == nil {
		return nil, errNoType
	}
	return typedef, nil
}

// fields lists members from bit offset base on, as many as left allows.
func (b *BTF) fields(members []btf.Member, base uint64, union bool, depth int, left *int) ([]Field, error) {
	if depth > maxDepth {
		return nil, errors.New("anonymous members nest without end")
	}
	var out []Field
	for _, m := range members {
		if *left--; *left < 0 {
			return nil, errors.New("more members than a structure has")
		}
		at := base + uint64(m.Offset)
		if m.Name == "" {
			var inner []Field
			var err error
			switch u := btf.UnderlyingType(m.Type).(type) {
			case *btf.Struct:
				inner, err = b.fields(u.Members, at, union, depth+1, left)
			case *btf.Union:
				inner, err = b.fields(u.Members, at, true, depth+1, left)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		f := Field{Name: m.Name, Type: cDecl(m.Type, ""), Offset: at, Size: uint64(m.BitfieldSize), Bits: m.BitfieldSize > 0, Union: union}
		if !f.Bits {
			size, ok := b.sizeOf(m.Type)
			if !ok {
				return nil, fmt.Errorf("member %s of type %s has no size", m.Name, f.Type)
			}
			f.Size = size * 8
		}
		out = append(out, f)
	}
	return out, nil
}

// padding finds what no field covers in a type of size bits.
func padding(fields []Field, size uint64) []Hole {
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b Field) int { return cmp.Compare(a.Offset, b.Offset) })
	var (
		out   []Hole
		end   uint64
		after string
	)
	for _, f := range sorted {
		if f.Offset > end {
			out = append(out, Hole{Offset: end, Size: f.Offset - end, After: after})
		}
		if e := f.Offset + f.Size; e >= end {
			end, after = e, f.Name
		}
	}
	if size > end {
		out = append(out, Hole{Offset: end, Size: size - end, After: after, Tail: true})
	}
	return out
}

// Signature is a function's declaration as C writes it. A name that BTF lacks
// is errNoType: the function was inlined everywhere, is a macro, or is not in
// this build.
func (b *BTF) Signature(name string) (string, error) {
	types, err := b.spec.AnyTypesByName(name)
	if errors.Is(err, btf.ErrNotFound) {
		return "", errNoType
	}
	if err != nil {
		return "", err
	}
	for _, t := range types {
		if f, ok := t.(*btf.Func); ok {
			return cDecl(f.Type, name), nil
		}
	}
	return "", errNoType
}
