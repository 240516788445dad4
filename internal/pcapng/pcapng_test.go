package pcapng_test

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
)

// files is a run's trace in a pcapng file, and its records.
type files struct {
	pcapng  bytes.Buffer
	ports   []string
	records []trace.Record
}

// captureRuns captures the traced ports of plantest's small experiment that match the patterns.
func captureRuns(t testing.TB, patterns ...string) *files {
	t.Helper()
	return capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.RunTraced(t, plantest.NewRegistry(p4abc.Scheme(), "."), sinks, patterns...)
	})
}

// capture runs an experiment into a pcapng file.
func capture(t testing.TB, run func(func(ports []string) []trace.Sink) []trace.Record) *files {
	t.Helper()
	f := &files{}
	var w *pcapng.Writer
	f.records = run(func(ports []string) []trace.Sink {
		f.ports = ports
		var err error
		if w, err = pcapng.NewWriter(&f.pcapng, ports); err != nil {
			t.Fatal(err)
		}
		return []trace.Sink{w}
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// transmitted returns the records that a pcapng file has.
func (f *files) transmitted() []trace.Record {
	var out []trace.Record
	for _, r := range f.records {
		if r.Kind == trace.Transmit || r.Kind == trace.Drop {
			out = append(out, r)
		}
	}
	return out
}

// interfaceName returns the interface of a record in a pcapng file.
func interfaceName(r *trace.Record) string {
	if r.Kind == trace.Drop {
		return r.Port + " drops"
	}
	return r.Port
}

// TestWriter_FramesMatchEvents checks that pcapgo reads the events from the file: interfaces by port, nanoseconds,
// frames whose headers have the events' numbers, and the frames' full lengths.
func TestWriter_FramesMatchEvents(t *testing.T) {
	f := captureRuns(t, "*")
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

// TestSameBytes checks that the same run gives the same bytes, without any information about the machine.
func TestSameBytes(t *testing.T) {
	a, b := captureRuns(t, "*"), captureRuns(t, "*")
	if !bytes.Equal(a.pcapng.Bytes(), b.pcapng.Bytes()) {
		t.Error("the bytes differ")
	}
	for _, word := range []string{"linux", "amd64", "gopacket"} {
		t.Run(word, func(t *testing.T) {
			if bytes.Contains(a.pcapng.Bytes(), []byte(word)) {
				t.Errorf("the file has %q", word)
			}
		})
	}
}

// other writes a pcapng file as capture tools do: epoch times, and another link type.
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

// TestRead_AcceptsForeignFiles checks files of other programs. Epoch times count from the first packet, an
// interface's name becomes one word, and frames without IP have no addresses.
func TestRead_AcceptsForeignFiles(t *testing.T) {
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
		t.Run(c.link.String(), func(t *testing.T) {
			var got []trace.Record
			start, err := pcapng.Read(bytes.NewReader(other(c.link, []time.Time{at, at.Add(1500 * time.Nanosecond)},
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

// TestSimplePacket checks that a simple packet block has no timestamp, and belongs to the first interface.
func TestSimplePacket(t *testing.T) {
	var b bytes.Buffer
	w, _ := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{LinkType: layers.LinkTypeEthernet},
		pcapgo.NgWriterOptions{})
	w.Flush()
	b.Write([]byte{3, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0, 20, 0, 0, 0})
	n := 0
	_, err := pcapng.Read(&b, func(r *trace.Record) error {
		if n++; r.At != 0 || r.Size != 3 || r.Port != "interface0" {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d packets, %v", n, err)
	}
}

// little returns a trace of few packets, for fuzzing.
func little() []byte {
	var b bytes.Buffer
	p, _ := pcapng.NewWriter(&b, []string{"a->s"})
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
		r := trace.Record{At: unit.Time(i) * unit.Microsecond, Kind: trace.Transmit + trace.EventKind(i%2), Port: "a->s",
			Src:   "a",
			Frame: frame, FrameBytes: len(frame), Reason: "full"}
		p.Write(&r)
	}
	p.Close()
	return b.Bytes()
}

// FuzzRead_GivesWritableRecords checks that no file makes the reader panic, and that its records can be written as
// text.
func FuzzRead_GivesWritableRecords(f *testing.F) {
	f.Add(little())
	f.Add(other(layers.LinkTypeRaw, []time.Time{time.Unix(1e9, 0)}, []byte{0x45, 0, 0, 20}))
	f.Fuzz(func(t *testing.T, data []byte) {
		pcapng.Read(bytes.NewReader(data), plantest.CheckWritable(t))
	})
}

func Example() {
	var b bytes.Buffer
	p, _ := pcapng.NewWriter(&b, []string{"s1->server"})
	p.Write(&trace.Record{At: unit.Microsecond, Kind: trace.Transmit, Port: "s1->server", Frame: make([]byte, 60),
		FrameBytes: 1514})
	p.Close()
	pcapng.Read(&b, func(r *trace.Record) error {
		fmt.Println(r.At, r.Kind, r.Port, r.Size)
		return nil
	})
	// Output: 1us transmit s1->server 1514
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
