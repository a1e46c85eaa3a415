package report

import (
	"bytes"
	"io"
	"testing"
)

// A document of a hundred thousand holes, in each format and read back.
func BenchmarkRender(b *testing.B) {
	d := manyHoles(100_000)
	for _, f := range Formats() {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Render(io.Discard, d, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	var buf bytes.Buffer
	if err := renderJSON(&buf, manyHoles(100_000), Options{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(buf.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
