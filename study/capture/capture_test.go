package capture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"weir/cmd/weir/cli"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/study/capture"
	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// traced is TCP with ECN, SACK and time stamps over IPv4 and IPv6 through a short
// queue and a lossy link, with datagrams and extensions beside it.
const traced = `title: traced
duration: 1500ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 20Mbps, delay: 2ms, loss: 0.2%}
    - {ends: [b, s], rate: 20Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 2ms, buffer: 12 packets}
switch: [forward, {abc: {memory: 300ms, reference: 5Mbps}}]
traffic:
  - {name: four, from: a, to: c, transport: tcp, flows: 2, start: 0s, size: 300kB}
  - {name: six, from: b, to: c, transport: tcp, ip: 6, start: 0s, size: 300kB}
  - {name: ecn, from: b, to: c, transport: {tcp: {ecn: true}}, cc: dctcp, start: 0s}
  - {name: datagrams, from: b, to: c, transport: udp, rate: 1Mbps, start: 0s}
  - {name: frames, from: a, to: c, transport: window, window: 4 packets, size: 40kB, start: 0s}
measure: [goodput]
`

// config is the run of it.
func config(t testing.TB) *sim.Config {
	t.Helper()
	name := filepath.Join(t.TempDir(), "traced.yaml")
	if err := os.WriteFile(name, []byte(traced), 0o644); err != nil {
		t.Fatal(err)
	}
	r := cli.Registry()
	src, err := r.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Load(r, src, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Runs(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// files is a run's trace in all forms, and its records.
type files struct {
	pcapng, parquet, text bytes.Buffer
	ports                 []string
	records               []trace.Record
}

func (f *files) Write(r *trace.Record) error {
	x := *r
	x.Frame = append([]byte(nil), r.Frame...)
	f.records = append(f.records, x)
	return nil
}

func run(t testing.TB, patterns ...string) *files {
	t.Helper()
	c := config(t)
	f := &files{}
	ports := sim.TracePorts(c.Network)
	for _, p := range patterns {
		trace.Select(ports, p)
	}
	for _, p := range ports {
		if p.Traced {
			f.ports = append(f.ports, p.Name)
		}
	}
	p, err := capture.NewPcapng(&f.pcapng, f.ports)
	if err != nil {
		t.Fatal(err)
	}
	q, text := capture.NewParquet(&f.parquet, f.ports), trace.NewText(&f.text, f.ports)
	config := trace.Config{Ports: ports, Book: c.Hosts, Frames: true, Sinks: []trace.Sink{p, q, text, f}}
	for _, n := range c.Network.Nodes {
		config.Nodes = append(config.Nodes, n.Name)
	}
	c.Trace = trace.NewCollector(config)
	if _, err := sim.Run(c); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Trace.Err(), p.Close(), q.Close(), text.Close()); err != nil {
		t.Fatal(err)
	}
	return f
}

// transmitted are the records that a pcapng file has.
func (f *files) transmitted() []trace.Record {
	var out []trace.Record
	for _, r := range f.records {
		if r.Kind == trace.Transmit || r.Kind == trace.Drop {
			out = append(out, r)
		}
	}
	return out
}

// interfaceName is where a record is in a pcapng file.
func interfaceName(r *trace.Record) string {
	if r.Kind == trace.Drop {
		return r.Port + " drops"
	}
	return r.Port
}

// What pcapgo reads of the file is what happened: interfaces by port, nanoseconds,
// frames whose headers have the events' numbers, the frames' whole length.
func TestPcapng(t *testing.T) {
	f := run(t, "*")
	want := f.transmitted()
	r, err := pcapgo.NewNgReader(&f.pcapng, pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	drops, tcp := 0, 0
	for i := range want {
		w := &want[i]
		data, ci, options, err := r.ReadPacketDataWithOptions()
		if err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
		n, _ := r.Interface(ci.InterfaceIndex)
		if n.Name != interfaceName(w) || n.TimestampResolution != 9 || n.SnapLength != trace.SnapLength ||
			n.LinkType != layers.LinkTypeEthernet {
			t.Fatalf("packet %d: interface %+v, want %s", i, n, interfaceName(w))
		}
		if ci.Timestamp.UnixNano() != int64(w.At/unit.Nanosecond) || ci.Length != int(w.Size) ||
			ci.CaptureLength > trace.SnapLength {
			t.Fatalf("packet %d: %+v, want %s", i, ci, trace.AppendText(nil, w))
		}
		if w.Kind == trace.Drop {
			drops++
			if len(options.Comments) != 1 || options.Comments[0] != w.Reason {
				t.Fatalf("packet %d: comments %q, want %s", i, options.Comments, w.Reason)
			}
		}
		p := gopacket.NewPacket(data, layers.LinkTypeEthernet, gopacket.Default)
		if l, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP); ok {
			tcp++
			flags := uint8(0)
			for k, on := range []bool{l.FIN, l.SYN, l.RST, l.PSH, l.ACK, l.URG, l.ECE, l.CWR} {
				if on {
					flags |= 1 << k
				}
			}
			if int64(l.Seq) != w.Seq || int64(l.Ack) != w.Ack || flags != w.TCPFlags || uint16(l.SrcPort) != w.SrcPort ||
				uint16(l.DstPort) != w.DstPort {
				t.Fatalf("packet %d: %+v, want %s", i, l, trace.AppendText(nil, w))
			}
		}
	}
	if _, _, err := r.ReadPacketData(); err != io.EOF {
		t.Errorf("there is more: %v", err)
	}
	if drops == 0 || tcp < 100 || r.NInterfaces() != 2*len(f.ports) {
		t.Errorf("%d drops, %d TCP, %d interfaces", drops, tcp, r.NInterfaces())
	}
}

// Whoever reads the three forms of one trace gets the same events, as far as they
// have them.
func TestForms(t *testing.T) {
	f := run(t, "*")
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
	if err := capture.ReadParquet(bytes.NewReader(f.parquet.Bytes()), int64(f.parquet.Len()), collect(&rows)); err != nil {
		t.Fatal(err)
	}
	if start, err := capture.ReadPcapng(&f.pcapng, collect(&packets)); err != nil || !start.IsZero() {
		t.Fatal(start, err)
	}
	kinds := map[trace.Kind]int{}
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
	nodes := map[string]string{"a": "1", "b": "2", "c": "3"}
	for i, w := range f.transmitted() {
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

// The same run gives the same bytes.
func TestSameBytes(t *testing.T) {
	a, b := run(t, "*"), run(t, "*")
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

// other writes a pcapng file as capture tools do: epoch times, another link type.
func other(link layers.LinkType, times []time.Time, frames ...[]byte) []byte {
	var b bytes.Buffer
	w, _ := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{Name: "Ethernet 2", LinkType: link},
		pcapgo.NgWriterOptions{})
	for i, f := range frames {
		w.WritePacket(gopacket.CaptureInfo{Timestamp: times[i], CaptureLength: len(f), Length: len(f) + 1000,
			InterfaceIndex: 0}, f)
	}
	w.Flush()
	return b.Bytes()
}

// Files of others: times of a clock count from the first packet; names are one
// word; what is not IP has no addresses.
func TestOthers(t *testing.T) {
	ip, _ := packet.AppendIPv4(nil, addr("192.0.2.1"), addr("192.0.2.2"), 17, 0, 64, 1008)
	ip = append(ip, 0, 53, 4, 0, 3, 240, 0, 0)
	ethernet := append(packet.AppendEthernet(nil, [6]byte{1}, [6]byte{2}, 0x8100), 0, 5, 8, 0)
	at := time.Date(2026, 11, 21, 8, 0, 0, 123456789, time.UTC)
	for _, c := range []struct {
		link  layers.LinkType
		frame []byte
	}{
		{layers.LinkTypeEthernet, append(ethernet, ip...)},
		{layers.LinkTypeRaw, ip},
		{layers.LinkTypeLinuxSLL, append(append(make([]byte, 14), 8, 0), ip...)},
		{layers.LinkTypeNull, append([]byte{2, 0, 0, 0}, ip...)},
	} {
		t.Run(fmt.Sprint(c.link, c.frame), func(t *testing.T) {
			var got []trace.Record
			start, err := capture.ReadPcapng(bytes.NewReader(other(c.link, []time.Time{at, at.Add(1500 * time.Nanosecond)},
				c.frame, []byte{1, 2, 3})), func(r *trace.Record) error {
				got = append(got, *r)
				return nil
			})
			if err != nil || !start.Equal(at) || len(got) != 2 {
				t.Fatalf("link type %v: %v %v %+v", c.link, start, err, got)
			}
			if r := got[0]; r.At != 0 || r.Src != "192.0.2.1" || r.DstPort != 1024 || r.SrcPort != 53 || r.Payload != 1000 ||
				r.Port != "Ethernet_2" || r.Proto != 17 || r.Size != int64(len(c.frame))+1000 {
				t.Errorf("link type %v: %+v", c.link, r)
			}
			if r := got[1]; r.At != 1500*unit.Nanosecond || r.Src != "" || r.Size != 1003 {
				t.Errorf("link type %v: %+v", c.link, r)
			}
		})
	}
}

// A simple packet block has no time stamp and no interface but the first.
func TestSimplePacket(t *testing.T) {
	var b bytes.Buffer
	w, _ := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{LinkType: layers.LinkTypeEthernet},
		pcapgo.NgWriterOptions{})
	w.Flush()
	b.Write([]byte{3, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0, 20, 0, 0, 0})
	n := 0
	_, err := capture.ReadPcapng(&b, func(r *trace.Record) error {
		if n++; r.At != 0 || r.Size != 3 || r.Port != "interface0" {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d packets, %v", n, err)
	}
}

// Damage is an error with the file and the place.
func TestBadFiles(t *testing.T) {
	f := run(t, "s->c")
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
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "offset 0: this is neither pcapng nor Parquet"},
		"else":           {[]byte("#!/bin/sh\n"), "offset 0"},
		"cut.pcapng":     {f.pcapng.Bytes()[:f.pcapng.Len()-5], "the file ends within a block"},
		"short.pcapng":   {f.pcapng.Bytes()[:30], "offset 0: the file ends within a block"},
		"length.pcapng":  {flip(f.pcapng.Bytes(), tenth+21), fmt.Sprint("offset ", tenth)},
		"cut.parquet":    {f.parquet.Bytes()[:f.parquet.Len()-5], "offset "},
		"data.parquet":   {flip(f.parquet.Bytes(), 700), "row "},
		"footer.parquet": {flip(f.parquet.Bytes(), f.parquet.Len()-500), ""},
		"text.txt":       {[]byte(text), "column 2, event"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name)
			os.WriteFile(file, c.data, 0o644)
			_, err := capture.Read(file, func(*trace.Record) error { return nil })
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		})
	}
	if _, err := capture.Read(dir, nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := capture.Read(filepath.Join(dir, "nosuch"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	// the taker's error is not the file's
	good := filepath.Join(dir, "good.parquet")
	os.WriteFile(good, f.parquet.Bytes(), 0o644)
	mine := errors.New("enough")
	if _, err := capture.Read(good, func(*trace.Record) error { return mine }); err != mine {
		t.Errorf("%v, want %v", err, mine)
	}
}

// little is a trace of few packets, for fuzzing.
func little(pcapng, parquet io.Writer) {
	p, _ := capture.NewPcapng(pcapng, []string{"a->s"})
	q := capture.NewParquet(parquet, []string{"a->s"})
	book := packet.NewBook()
	for _, a := range []string{"10.0.0.1", "10.0.0.2"} {
		book.Add(addr(a), addr("fd00"+strings.ReplaceAll(a[len("10.0.0"):], ".", "::")))
	}
	for i := range uint8(8) {
		x := packet.Packet{Src: 1, Dst: 2, Version: 4 + 2*(i%2), Proto: []uint8{6, 17, 252, 6}[i%4], Payload: 10 * int32(i),
			HopLimit: 9, SrcPort: 1, DstPort: 2}
		if i == 7 {
			x = packet.Packet{Kind: packet.Pause}
		}
		x.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
		frame, err := x.Emit(book, nil)
		if err != nil {
			panic(err)
		}
		r := trace.Record{At: unit.Time(i) * unit.Microsecond, Kind: trace.Transmit + trace.Kind(i%2), Port: "a->s", Src: "a",
			Frame: frame, FrameBytes: len(frame), Reason: "full"}
		p.Write(&r)
		q.Write(&r)
	}
	p.Close()
	q.Close()
}

// No file makes a reader panic, and what it gives can be written as text.
func FuzzPcapng(f *testing.F) {
	var p, q bytes.Buffer
	little(&p, &q)
	f.Add(p.Bytes())
	f.Add(other(layers.LinkTypeRaw, []time.Time{time.Unix(1e9, 0)}, []byte{0x45, 0, 0, 20}))
	f.Fuzz(func(t *testing.T, data []byte) {
		capture.ReadPcapng(bytes.NewReader(data), textual(t))
	})
}

func FuzzParquet(f *testing.F) {
	var p, q bytes.Buffer
	little(&p, &q)
	f.Add(q.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		capture.ReadParquet(bytes.NewReader(data), int64(len(data)), textual(t))
	})
}

// textual wants records that the text form can say.
func textual(t *testing.T) func(*trace.Record) error {
	n := 0
	return func(r *trace.Record) error {
		if n++; n > 1000 {
			return errors.New("enough")
		}
		if r.Seq < 0 || r.Ack < 0 || r.Size < 0 || r.Payload < 0 {
			return nil
		}
		line := string(trace.AppendText(nil, r))
		if _, err := trace.ParseText(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		return nil
	}
}

func Example() {
	var b bytes.Buffer
	p, _ := capture.NewPcapng(&b, []string{"s1->server"})
	p.Write(&trace.Record{At: unit.Microsecond, Kind: trace.Transmit, Port: "s1->server", Frame: make([]byte, 60),
		FrameBytes: 1514})
	p.Close()
	capture.ReadPcapng(&b, func(r *trace.Record) error {
		fmt.Println(r.At, r.Kind, r.Port, r.Size)
		return nil
	})
	// Output: 1us transmit s1->server 1514
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
