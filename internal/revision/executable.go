package revision

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"sync"
)

// Executable identifies this program's executable by 64 hexadecimal digits: the SHA-256 of its Go build ID or, if it
// has no build ID, of the whole file. Where the file is not readable, it is the SHA-256 of the build information.
//
// The go command derives the build ID from everything that it compiles and links, so two builds that differ in one
// constant differ in it. A change of the file after the link, such as strip(1) makes, does not change the build ID.
func Executable() string {
	build, digest := identifyExecutable()
	return build + digest
}

// identifyExecutable returns the SHA-256 of this executable's build ID or, without a build ID, of its file.
// The other result is empty.
var identifyExecutable = sync.OnceValues(func() (build, digest string) {
	paths := []string{"/proc/self/exe"} // on Linux, this is right even if the file was replaced after the start
	if path, err := os.Executable(); err == nil {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if f, err := os.Open(path); err == nil {
			defer f.Close()
			if build, digest, err = identify(f); err == nil {
				return build, digest
			}
		}
	}
	info := "unknown"
	if i, ok := debug.ReadBuildInfo(); ok {
		info = i.String()
	}
	return "", hexDigest([]byte(info))
})

// identify returns the SHA-256 of the build ID of the executable in r or, without a build ID, of all bytes of r, in
// hexadecimal digits. The other result is empty.
func identify(r interface {
	io.Reader
	io.ReaderAt
}) (build, digest string, err error) {
	if id := buildID(r); id != "" {
		return hexDigest([]byte(id)), "", nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", "", err
	}
	return "", hex.EncodeToString(h.Sum(nil)), nil
}

// hexDigest returns the SHA-256 of data in hexadecimal.
func hexDigest(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// buildIDPattern is the form that the go command gives a build ID: the hash of the link's inputs, two hashes of the
// main package and the hash of the linked file [cmd/go/internal/work/buildid.go]. Texts that others set with -buildid,
// such as Bazel's "redacted", do not identify a program.
var buildIDPattern = regexp.MustCompile(`^[\w-]{20}(/[\w-]{20}){3}$`)

// headLength is the part of a file, in bytes, that is searched for a build ID or read of one note segment. The linker
// writes the build ID before the code [cmd/internal/buildid/buildid.go: readSize 32 kB].
const headLength = 64 << 10

// buildID returns the build ID of the executable in r, or "" if it has no build ID of the go command's form.
// ELF files have it in a note; Mach-O and PE files have it as text at the begin of the code.
func buildID(r io.ReaderAt) string {
	var id []byte
	if order, segments, ok := noteSegments(r); ok {
		for _, segment := range segments {
			if id == nil {
				notes := make([]byte, min(segment.Filesz, headLength))
				n, _ := r.ReadAt(notes, int64(segment.Off))
				id = goNote(notes[:n], order)
			}
		}
	} else {
		head := make([]byte, headLength)
		n, _ := r.ReadAt(head, 0)
		_, text, _ := bytes.Cut(head[:n], []byte("\xff Go build ID: \""))
		id, _, _ = bytes.Cut(text, []byte("\"\n \xff"))
	}
	if !buildIDPattern.Match(id) {
		return ""
	}
	return string(id)
}

// noteSegments returns the byte order and the note segments of an ELF file of 64 bits. It does not use elf.NewFile,
// which links code that unpacks debug information.
func noteSegments(r io.ReaderAt) (order binary.ByteOrder, notes []elf.Prog64, ok bool) {
	var h elf.Header64
	if n, _ := r.ReadAt(h.Ident[:], 0); n < len(h.Ident) || string(h.Ident[:len(elf.ELFMAG)]) != elf.ELFMAG ||
		elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil, nil, false
	}
	order = binary.LittleEndian
	if elf.Data(h.Ident[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	read := func(offset int64, to any) bool {
		return binary.Read(io.NewSectionReader(r, offset, int64(binary.Size(to))), order, to) == nil
	}
	if !read(0, &h) {
		return nil, nil, false
	}
	for i := range int64(h.Phnum) {
		var p elf.Prog64
		if !read(int64(h.Phoff)+i*int64(h.Phentsize), &p) {
			break
		}
		if elf.ProgType(p.Type) == elf.PT_NOTE {
			notes = append(notes, p)
		}
	}
	return order, notes, true
}

// goNote returns the content of the note with the name Go and type 4 [cmd/internal/buildid/note.go], or nil.
func goNote(notes []byte, order binary.ByteOrder) []byte {
	const header, goType = 12, 4
	for len(notes) >= header {
		nameLength, length := uint64(order.Uint32(notes)), uint64(order.Uint32(notes[4:]))
		kind := order.Uint32(notes[8:])
		begin := header + (nameLength+3)&^3
		end := begin + length
		if end > uint64(len(notes)) {
			return nil
		}
		if kind == goType && string(notes[header:header+nameLength]) == "Go\x00\x00" {
			return notes[begin:end]
		}
		notes = notes[min(uint64(len(notes)), (end+3)&^3):]
	}
	return nil
}
