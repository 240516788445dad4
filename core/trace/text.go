package trace

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"weir/core/packet"
	"weir/core/unit"
)

// Magic is the first line of the text form.
const Magic = "# weir trace 1\n"

// columns of the text form, separated by one space; - stands for a missing value.
const columns = "time_s event node port flow packet proto src dst seq ack size_bytes payload_bytes tos ecn flags " +
	"queue_packets queue_bytes reason"

var columnCount = strings.Count(columns, " ") + 1

// flagNames are TCP's flags from bit 0 on (RFC 9293 §3.1).
const flagNames = "FSRPAUEC"

var ecnNames = [4]string{packet.NotECT: "not-ect", packet.ECT1: "ect1", packet.ECT0: "ect0", packet.CE: "ce"}

// ECNName returns the name of the code point in the lower two bits of a TOS byte (RFC 3168 §5).
func ECNName(tos uint8) string { return ecnNames[tos&packet.ECN] }

// FlagLetters returns the flags of a TCP header as letters, F S R P A U E C for FIN to CWR; "" if no flag is set.
func FlagLetters(flags uint8) string {
	var b [8]byte
	n := 0
	for i := range flagNames {
		if flags&(1<<i) != 0 {
			b[n] = flagNames[i]
			n++
		}
	}
	return string(b[:n])
}

// ParseFlagLetters is the inverse of FlagLetters. It returns false for letters that are unknown, repeated or in another
// order.
func ParseFlagLetters(s string) (uint8, bool) {
	var flags uint8
	for _, c := range []byte(s) {
		i := strings.IndexByte(flagNames, c)
		if i < 0 || flags>>i != 0 { // each once, in order
			return 0, false
		}
		flags |= 1 << i
	}
	return flags, true
}

// protoName returns the name of an IP protocol, or its number if it has no name here.
func protoName(proto uint8) string {
	switch proto {
	case packet.ProtoTCP:
		return "tcp"
	case packet.ProtoUDP:
		return "udp"
	case packet.ProtoRDMA:
		return "rdma"
	case packet.ProtoOwn:
		return "own"
	}
	return strconv.Itoa(int(proto))
}

// parseProtoName is the inverse of protoName. It returns false for a name that protoName does not return.
func parseProtoName(s string) (uint8, bool) {
	switch s {
	case "tcp":
		return packet.ProtoTCP, true
	case "udp":
		return packet.ProtoUDP, true
	case "rdma":
		return packet.ProtoRDMA, true
	case "own":
		return packet.ProtoOwn, true
	}
	n, err := strconv.ParseUint(s, 10, 8)
	return uint8(n), err == nil && protoName(uint8(n)) == s
}

// FormatSeconds writes a time as seconds with all twelve decimals.
func FormatSeconds(t unit.Time) string { return string(appendSeconds(nil, t)) }

// appendSeconds appends a time as seconds with twelve decimals.
func appendSeconds(b []byte, t unit.Time) []byte {
	if t < 0 {
		b = append(b, '-')
		t = -t
	}
	b = strconv.AppendUint(b, uint64(t)/uint64(unit.Second), 10)
	at := len(b)
	b = strconv.AppendUint(b, uint64(t)%uint64(unit.Second)+uint64(unit.Second), 10)
	b[at] = '.' // replaces the 1 that kept leading zeros
	return b
}

// appendEndpoint writes host:port, or - without a host.
func appendEndpoint(b []byte, host string, port uint16) []byte {
	if host == "" {
		return append(b, '-')
	}
	return strconv.AppendUint(append(append(b, host...), ':'), uint64(port), 10)
}

// appendWord appends a word, or - if it is empty.
func appendWord(b []byte, s string) []byte {
	if s == "" {
		s = "-"
	}
	return append(b, s...)
}

// appendNumber appends a number, or - for None.
func appendNumber(b []byte, n int64) []byte {
	if n == None {
		return append(b, '-')
	}
	return strconv.AppendInt(b, n, 10)
}

// AppendText appends the record's line of the text form, without the line's end. Names and the reason must be words
// without spaces.
func AppendText(b []byte, r *Record) []byte {
	b = append(appendSeconds(b, r.At), ' ')
	b = append(append(b, r.Kind.String()...), ' ')
	b = append(appendWord(b, r.Node), ' ')
	b = append(appendWord(b, r.Port), ' ')
	b = append(appendNumber(b, r.Flow), ' ')
	b = append(append(b, PacketName(r.Packet)...), ' ')
	b = append(append(b, protoName(r.Proto)...), ' ')
	b = append(appendEndpoint(b, r.Src, r.SrcPort), ' ')
	b = append(appendEndpoint(b, r.Dst, r.DstPort), ' ')
	b = append(strconv.AppendInt(b, r.Seq, 10), ' ')
	b = append(strconv.AppendInt(b, r.Ack, 10), ' ')
	b = append(strconv.AppendInt(b, r.Size, 10), ' ')
	b = append(strconv.AppendInt(b, r.Payload, 10), ' ')
	b = append(strconv.AppendUint(b, uint64(r.TOS), 10), ' ')
	b = append(append(b, ECNName(r.TOS)...), ' ')
	b = append(appendWord(b, FlagLetters(r.TCPFlags)), ' ')
	b = append(appendNumber(b, r.QueuePackets), ' ')
	b = append(appendNumber(b, r.QueueBytes), ' ')
	return appendWord(b, r.Reason)
}

// ParseText reads a line of the text form. The error names the first invalid column; the record is then not usable. The
// record has no frame.
func ParseText(line string) (Record, error) {
	var r Record
	words := strings.Split(line, " ")
	if len(words) != columnCount {
		return r, fmt.Errorf("%d columns, not %d", len(words), columnCount)
	}
	names := strings.Split(columns, " ")
	var bad error
	wrong := func(i int, want string) {
		if bad == nil {
			bad = fmt.Errorf("column %d, %s: %q is no %s", i+1, names[i], words[i], want)
		}
	}
	number := func(i int, none bool) int64 {
		if none && words[i] == "-" {
			return None
		}
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil || none && n < 0 {
			wrong(i, "number")
		}
		return n
	}
	word := func(i int) string {
		if words[i] == "" {
			wrong(i, "word")
		}
		if words[i] == "-" {
			return ""
		}
		return words[i]
	}
	endpoint := func(i int) (string, uint16) {
		if words[i] == "-" {
			return "", 0
		}
		at := strings.LastIndexByte(words[i], ':')
		if at < 1 {
			wrong(i, "host:port")
			return "", 0
		}
		port, err := strconv.ParseUint(words[i][at+1:], 10, 16)
		if err != nil {
			wrong(i, "host:port")
		}
		return words[i][:at], uint16(port)
	}
	var ok bool
	if r.At, ok = parseSeconds(words[0]); !ok {
		wrong(0, "number of seconds with twelve decimals")
	}
	if r.Kind, ok = ParseKind(words[1]); !ok {
		wrong(1, "event; "+strings.Join(kindNames[:], ", ")+" are")
	}
	r.Node, r.Port, r.Flow = word(2), word(3), number(4, true)
	if r.Packet, ok = ParsePacketName(words[5]); !ok {
		wrong(5, "kind of packet; "+strings.Join(packetNames[:], ", ")+" are")
	}
	if r.Proto, ok = parseProtoName(words[6]); !ok {
		wrong(6, "protocol")
	}
	r.Src, r.SrcPort = endpoint(7)
	r.Dst, r.DstPort = endpoint(8)
	r.Seq, r.Ack, r.Size, r.Payload = number(9, false), number(10, false), number(11, false), number(12, false)
	tos, err := strconv.ParseUint(words[13], 10, 8)
	if r.TOS = uint8(tos); err != nil {
		wrong(13, "TOS byte")
	} else if words[14] != ECNName(r.TOS) {
		wrong(14, "code point of this TOS byte")
	}
	if r.TCPFlags, ok = ParseFlagLetters(word(15)); !ok {
		wrong(15, "set of flags; "+flagNames+" are")
	}
	r.QueuePackets, r.QueueBytes, r.Reason = number(16, true), number(17, true), word(18)
	return r, bad
}

// parseSeconds is the inverse of FormatSeconds. It returns false unless there are exactly twelve decimals.
func parseSeconds(s string) (unit.Time, bool) {
	whole, part, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if len(part) != 12 || strings.ContainsAny(whole+part, "+-") {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > int64(unit.Never/unit.Second)-1 {
		return 0, false
	}
	m, err := strconv.ParseInt(part, 10, 64)
	t := unit.Time(n)*unit.Second + unit.Time(m)
	if s[0] == '-' {
		t = -t
	}
	return t, err == nil
}

// TextSink is a Sink that writes the text form: Magic, the traced ports, the columns'
// names, and one line an event.
type TextSink struct {
	w    *bufio.Writer
	line []byte
}

// NewText returns a text sink; Close must end it.
func NewText(w io.Writer, ports []string) *TextSink {
	t := &TextSink{w: bufio.NewWriterSize(w, 1<<16)}
	t.w.WriteString(TextHead(ports))
	return t
}

// TextHead returns the head of a text file: Magic, its ports, if there are any, and its columns.
func TextHead(ports []string) string {
	head := Magic
	if len(ports) > 0 {
		head += "# ports: " + strings.Join(ports, " ") + "\n"
	}
	return head + "# " + columns + "\n"
}

// Write writes a line.
func (t *TextSink) Write(r *Record) error {
	t.line = append(AppendText(t.line[:0], r), '\n')
	_, err := t.w.Write(t.line)
	return err
}

// Close writes what is buffered. It does not close the writer below.
func (t *TextSink) Close() error { return t.w.Flush() }

// longestLine exceeds the length of every line of the text form, in bytes.
const longestLine = 1 << 16

// ReadText reads the text form and passes each record to f, which may not retain it. Empty lines and lines that begin
// with # are skipped. An error names the line. An error of f ends the reading and is returned as it is.
func ReadText(r io.Reader, f func(*Record) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		record, err := ParseText(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := f(&record); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// FormatAddress writes an address in the form of records, without a zone; "" for an invalid address.
func FormatAddress(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.WithZone("").String()
}

// SanitizeWord returns s with each space, control or replacement character replaced by _, so that s stays one column of
// the text form.
func SanitizeWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, s)
}
