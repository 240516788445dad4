package revision

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A build ID of the go command, and the same program's after a constant changed: the action of the compiler is the
// same.
const (
	oneBuildID   = "10tAbCdEfGhIjKlMnOpQ/KPptRsTuVwXyZ0123456/pDL3-_aBcDeFgHiJkLm0/TRUDnopqrstuvwxyz012"
	otherBuildID = "10tAbCdEfGhIjKlMnOpQ/KPptRsTuVwXyZ0123456/pDL3-_aBcDeFgHiJkLm1/TRUDnopqrstuvwxyz013"
)

// byteOrder writes numbers of either order.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// note returns a note of an ELF file.
func note(order byteOrder, name string, kind uint32, content string) []byte {
	b := order.AppendUint32(nil, uint32(len(name)))
	b = order.AppendUint32(b, uint32(len(content)))
	b = order.AppendUint32(b, kind)
	for _, s := range []string{name, content} {
		b = append(b, s...)
		b = append(b, make([]byte, -len(s)&3)...)
	}
	return b
}

// elfFile returns an ELF file of 64 bits with one note segment for each of notes, at the given offset.
func elfFile(order byteOrder, offset int, notes ...[]byte) []byte {
	const header, program = 64, 56
	b := make([]byte, header, offset)
	copy(b, "\x7fELF\x02\x01\x01")
	if order.String() == "BigEndian" {
		b[5] = 2
	}
	order.PutUint16(b[16:], 2)  // executable
	order.PutUint16(b[18:], 62) // x86-64
	order.PutUint32(b[20:], 1)
	order.PutUint64(b[32:], header)
	order.PutUint16(b[52:], header)
	order.PutUint16(b[54:], program)
	order.PutUint16(b[56:], uint16(len(notes)))
	order.PutUint16(b[58:], 64)
	at := offset
	for _, n := range notes {
		p := make([]byte, program)
		order.PutUint32(p, 4) // PT_NOTE
		order.PutUint32(p[4:], 4)
		order.PutUint64(p[8:], uint64(at))
		order.PutUint64(p[32:], uint64(len(n)))
		order.PutUint64(p[40:], uint64(len(n)))
		order.PutUint64(p[48:], 4)
		b, at = append(b, p...), at+len(n)
	}
	b = append(b, make([]byte, offset-len(b))...)
	for _, n := range notes {
		b = append(b, n...)
	}
	return b
}

// rawFile returns a Mach-O or PE file's begin with the text that the linker writes before the code.
func rawFile(offset int, id string) []byte {
	return append(bytes.Repeat([]byte{0xcf}, offset), "\xff Go build ID: \""+id+"\"\n \xff\xcc\xcc"...)
}

// TestBuildID checks the build ID of files of each format, and the whole file's digest for a file without one.
func TestBuildID(t *testing.T) {
	le, be := byteOrder(binary.LittleEndian), byteOrder(binary.BigEndian)
	gnu := func(order byteOrder) []byte { return note(order, "GNU\x00", 3, "twenty bytes of GNU.") }
	goNote := func(order byteOrder, id string) []byte { return note(order, "Go\x00\x00", 4, id) }
	for _, x := range []struct {
		name string
		file []byte
		want string // build ID
	}{
		{"ELF", elfFile(le, 0xf5c, goNote(le, oneBuildID)), oneBuildID},
		{"ELF, other build", elfFile(le, 0xf5c, goNote(le, otherBuildID)), otherBuildID},
		{"ELF, big endian", elfFile(be, 0xf5c, goNote(be, oneBuildID)), oneBuildID},
		{"ELF, after another note", elfFile(le, 0xf5c, append(gnu(le), goNote(le, oneBuildID)...)), oneBuildID},
		{"ELF, in another segment", elfFile(le, 0xf5c, gnu(le), goNote(le, oneBuildID)), oneBuildID},
		{"ELF, behind the head", elfFile(le, 200_000, goNote(le, oneBuildID)), oneBuildID},
		{"Mach-O", rawFile(4098, oneBuildID), oneBuildID},
		{"PE", rawFile(1538, oneBuildID), oneBuildID},
		{"ELF, -buildid=", elfFile(le, 0xf5c, gnu(le)), ""},
		{"ELF, empty ID", elfFile(le, 0xf5c, goNote(le, "")), ""},
		{"ELF, redacted", elfFile(le, 0xf5c, goNote(le, "redacted")), ""},
		{"ELF, a package's word", elfFile(le, 0xf5c, goNote(le, "weir-1.2.0-r1/x/y/z")), ""},
		{"ELF, type 5", elfFile(le, 0xf5c, note(le, "Go\x00\x00", 5, oneBuildID)), ""},
		{"ELF, cut note", elfFile(le, 0xf5c, goNote(le, oneBuildID)[:90]), ""},
		{"ELF, huge lengths", elfFile(le, 0xf5c, bytes.Repeat([]byte{0xff}, 64)), ""},
		{"PE, redacted", rawFile(1538, "redacted"), ""},
		{"PE, two lines", rawFile(1538, oneBuildID+"\n"), ""},
		{"raw, too late", rawFile(headLength, oneBuildID), ""},
		{"text", []byte("#!/bin/sh\n"), ""},
		{"empty", nil, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			build, digest, err := identify(bytes.NewReader(x.file))
			wantBuild, wantDigest := "", fmt.Sprintf("%x", sha256.Sum256(x.file))
			if x.want != "" {
				wantBuild, wantDigest = fmt.Sprintf("%x", sha256.Sum256([]byte(x.want))), ""
			}
			if build != wantBuild || digest != wantDigest || err != nil {
				t.Errorf("build %q, digest %q, %v; want %q, %q", build, digest, err, wantBuild, wantDigest)
			}
		})
	}
}

// countingFile counts the bytes that are read of a file.
type countingFile struct {
	*os.File
	read int
}

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.read += n
	return n, err
}

func (f *countingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read += n
	return n, err
}

// TestStartReadsLittle checks that this executable is identified by its build ID, with at most headLength bytes read.
func TestStartReadsLittle(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := &countingFile{File: file}
	build, digest, err := identify(struct {
		reader
		readerAt
	}{f, f})
	if build == "" || digest != "" || err != nil || build != Executable() || strings.ToLower(build) != build {
		t.Errorf("build %q, digest %q, %v; Executable %q", build, digest, err, Executable())
	}
	if f.read > headLength {
		t.Errorf("%d bytes read, at most %d expected", f.read, headLength)
	}
}

type (
	reader   interface{ Read([]byte) (int, error) }
	readerAt interface {
		ReadAt([]byte, int64) (int, error)
	}
)
