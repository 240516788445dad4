package results_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/results"
	"weir/study/results/parquet"
)

// traces has a run's trace in all forms, and its records.
type traces struct {
	pcapng, parquet, text bytes.Buffer
	records               []trace.Record
}

func traced(t testing.TB, patterns ...string) *traces {
	t.Helper()
	f := &traces{}
	var all []interface{ Close() error }
	f.records = plantest.RunTraced(t, plantest.NewRegistry(p4abc.Scheme(), "."), func(ports []string) []trace.Sink {
		p, err := pcapng.NewWriter(&f.pcapng, ports)
		if err != nil {
			t.Fatal(err)
		}
		q, text := parquet.NewTraceTable(&f.parquet, ports), trace.NewText(&f.text, ports)
		all = []interface{ Close() error }{p, q, text}
		return []trace.Sink{p, q, text}
	}, patterns...)
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestTraceForms_HaveSameEvents checks that the three forms of one trace have the same events, as far as a form can
// have them.
func TestTraceForms_HaveSameEvents(t *testing.T) {
	f := traced(t, "*")
	collect := func(list *[]trace.Record) func(*trace.Record) error {
		return func(r *trace.Record) error {
			*list = append(*list, *r)
			return nil
		}
	}
	var text, rows, packets []trace.Record
	if err := trace.ReadText(&f.text, collect(&text)); err != nil {
		t.Fatal(err)
	}
	table := bytes.NewReader(f.parquet.Bytes())
	if err := parquet.ReadTraceTable(table, table.Size(), collect(&rows)); err != nil {
		t.Fatal(err)
	}
	if start, err := pcapng.Read(&f.pcapng, collect(&packets)); err != nil || !start.IsZero() {
		t.Fatal(start, err)
	}
	kinds := map[trace.EventKind]int{}
	for i, w := range f.records {
		kinds[w.Kind]++
		w.Frame, w.FrameBytes = nil, 0
		if i >= len(text) || !reflect.DeepEqual(text[i], w) {
			t.Fatalf("text %d, want %+v", i, w)
		}
		if i >= len(rows) || !reflect.DeepEqual(rows[i], w) {
			t.Fatalf("row %d is %+v\nwant %+v", i, rows[i], w)
		}
	}
	for k := range trace.Kinds {
		if kinds[k] == 0 {
			t.Errorf("there is no event of kind %s", k)
		}
	}
	var transmitted []trace.Record // which a pcapng file has
	for _, r := range f.records {
		if r.Kind == trace.Transmit || r.Kind == trace.Drop {
			transmitted = append(transmitted, r)
		}
	}
	nodes := map[string]string{"a": "1", "b": "2", "c": "3"}
	for i, w := range transmitted {
		g := packets[i]
		g.Frame, w.Frame = nil, nil
		address := func(name string) string { // README and docs/spec.md: 10.0.0.0 + i+1, fd00:: + i+1
			if w.Src == "b" && w.SrcPort == 0 || name == "" {
				return ""
			}
			if g.Src != "" && strings.Contains(g.Src, "::") {
				return "fd00::" + nodes[name]
			}
			return "10.0.0." + nodes[name]
		}
		w.Src, w.Dst = address(w.Src), address(w.Dst)
		w.At -= w.At % unit.Nanosecond
		w.Flow, w.QueuePackets, w.QueueBytes = trace.None, trace.None, trace.None
		w.Node, _, _ = strings.Cut(w.Port, "->")
		if w.Proto == packet.ProtoUDP {
			w.Seq = 0 // it is in the payload, which other readers do not know
		}
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("packet %d is %+v\nwant %+v", i, g, w)
		}
	}
}

// TestSameTraces checks that the same run gives the same bytes.
func TestSameTraces(t *testing.T) {
	a, b := traced(t, "*"), traced(t, "*")
	if !bytes.Equal(a.pcapng.Bytes(), b.pcapng.Bytes()) || !bytes.Equal(a.parquet.Bytes(), b.parquet.Bytes()) ||
		!bytes.Equal(a.text.Bytes(), b.text.Bytes()) {
		t.Error("the bytes differ")
	}
	for _, word := range []string{"linux", "amd64", "gopacket", "parquet-go"} {
		t.Run(word, func(t *testing.T) { // nothing of the machine
			if bytes.Contains(a.pcapng.Bytes(), []byte(word)) || bytes.Contains(a.parquet.Bytes(), []byte(word)) {
				t.Errorf("a file has %q", word)
			}
		})
	}
}

// TestBadFiles checks that damage is an error with the file and the place.
func TestBadFiles(t *testing.T) {
	f := traced(t, "s->c")
	dir := t.TempDir()
	flip := func(b []byte, at int) []byte {
		c := append([]byte(nil), b...)
		c[at] ^= 0xff
		return c
	}
	tenth := 0 // where a packet's block begins; its length is at 4, how much of the packet is there at 20
	for range 10 {
		tenth += int(binary.LittleEndian.Uint32(f.pcapng.Bytes()[tenth+4:]))
	}
	text := strings.Replace(f.text.String(), "transmit", "submit", 1)
	long := slices.Clone(f.parquet.Bytes()) // the length of its footer, which nothing may be taken for
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<30)
	wide := slices.Clone(f.parquet.Bytes()) // the first page's length: type, unpacked and packed, each an i32 (0x15)
	at := 7
	for ; wide[at] >= 0x80; at++ {
	}
	for at += 2; wide[at] >= 0x80; at++ {
		wide[at] = 0xfe
	}
	wide[at] = 0x7e
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty": {nil, "offset 0: unknown format; pcapng, Parquet"},
		"else":  {[]byte("#!/bin/sh\n"), "offset 0"},
		"pcap": {[]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00"), "offset 0: the format is pcap; convert it to " +
			"pcapng with editcap -F pcapng IN OUT"},
		"cut.pcapng":     {f.pcapng.Bytes()[:f.pcapng.Len()-5], "the file ends within a block"},
		"short.pcapng":   {f.pcapng.Bytes()[:30], "offset 0: the file ends within a block"},
		"length.pcapng":  {flip(f.pcapng.Bytes(), tenth+21), fmt.Sprint("offset ", tenth)},
		"cut.parquet":    {f.parquet.Bytes()[:f.parquet.Len()-5], "offset "},
		"data.parquet":   {flip(f.parquet.Bytes(), 700), "row "},
		"footer.parquet": {flip(f.parquet.Bytes(), f.parquet.Len()-500), ""},
		"long.parquet":   {long, fmt.Sprintf("offset %d: the footer has 1073741824 bytes", len(long)-8)},
		"wide.parquet":   {wide, "offset 4: a page has "},
		"text.txt":       {[]byte(text), "column 2, event"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name)
			os.WriteFile(file, c.data, 0o644)
			_, err := results.ReadTrace(file, func(*trace.Record) error { return nil })
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		})
	}
	if _, err := results.ReadTrace(dir, nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := results.ReadTrace(filepath.Join(dir, "nosuch"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	// an error of the caller is not an error of the file
	good := filepath.Join(dir, "good.parquet")
	os.WriteFile(good, f.parquet.Bytes(), 0o644)
	mine := errors.New("enough")
	if _, err := results.ReadTrace(good, func(*trace.Record) error { return mine }); err != mine {
		t.Errorf("%v, want %v", err, mine)
	}
}

// FuzzTraceTable checks that no file makes the reader panic, and that its records can be written as text.
func FuzzTraceTable(f *testing.F) {
	var b bytes.Buffer
	w := parquet.NewTraceTable(&b, []string{"a->s"})
	for i := range uint8(8) {
		w.Write(&trace.Record{At: unit.Time(i) * unit.Microsecond, Kind: trace.Transmit + trace.EventKind(i%2), Port: "a->s",
			Src: "a", Proto: []uint8{6, 17, 252, 6}[i%4], Reason: "full"})
	}
	w.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		parquet.ReadTraceTable(bytes.NewReader(data), int64(len(data)), plantest.CheckWritable(t))
	})
}
