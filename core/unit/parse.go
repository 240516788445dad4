package unit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// scale is one word of a unit, with its worth in the base unit.
type scale struct {
	word  string
	worth int64
}

// The words of each quantity, largest first. Printing uses the largest one that gives a whole number or a short
// decimal.
var (
	timeScales = []scale{
		{"h", int64(3600 * Second)}, {"min", int64(60 * Second)}, {"s", int64(Second)}, {"ms", int64(Millisecond)},
		{"us", int64(Microsecond)}, {"µs", int64(Microsecond)}, {"ns", int64(Nanosecond)}, {"ps", 1},
	}
	rateScales = []scale{
		{"Tbps", int64(Tbps)}, {"Gbps", int64(Gbps)}, {"Mbps", int64(Mbps)}, {"kbps", int64(Kbps)}, {"bps", 1},
	}
	packetRateScales = []scale{{"Mpps", 1_000_000}, {"kpps", 1000}, {"pps", 1}}
	byteScales       = []scale{
		{"TB", 1000 * int64(GB)}, {"GB", int64(GB)}, {"MB", int64(MB)}, {"KB", int64(KB)}, {"kB", int64(KB)},
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
	}
	packetScales = []scale{{"packets", 1}, {"packet", 1}}
)

// listWords lists the words of scales for an error message.
func listWords(scales ...[]scale) string {
	var w []string
	for _, s := range scales {
		for _, x := range s {
			w = append(w, x.word)
		}
	}
	return strings.Join(w, ", ")
}

// splitNumber splits a quantity such as "5.25 ms" into its leading digits and points and the word after them. One space
// between them is allowed. It checks neither of them.
func splitNumber(s string) (number, word string) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	word = strings.TrimPrefix(s[i:], " ")
	if word == "μs" { // the Greek letter U+03BC for the micro sign U+00B5: they look alike
		word = "µs"
	}
	return s[:i], word
}

// parseQuantity parses a number with one of the words of scales. It is an error if the value is not whole in the base
// unit or does not fit into 63 bits. what names the quantity in errors.
func parseQuantity(s, what string, scales []scale) (int64, error) {
	number, word := splitNumber(s)
	if strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("%q is negative; a %s is a number with one of the units %s", s, what, listWords(scales))
	}
	if number == "" {
		return 0, fmt.Errorf("%q is not a %s; a %s is a number with one of the units %s", s, what, what, listWords(scales))
	}
	for i, sc := range scales {
		if sc.word == word {
			v, err := multiplyDecimal(number, sc.worth)
			base := word // of the same quantity: the next word with worth 1
			for _, other := range scales[i:] {
				if base = other.word; other.worth == 1 {
					break
				}
			}
			switch err {
			case nil:
				return v, nil
			case errFraction:
				return 0, fmt.Errorf("%q: %w; it must be a whole number of %s", s, err, base)
			case ErrTooLarge:
				return 0, fmt.Errorf("%q: %w; the maximum is %d%s", s, err, int64(math.MaxInt64), base)
			default:
				return 0, fmt.Errorf("%q: %w such as 5%s or 1.5%s", s, err, word, word)
			}
		}
	}
	if word == "" {
		return 0, fmt.Errorf("%q has no unit; a %s has one of the units %s", s, what, listWords(scales))
	}
	return 0, fmt.Errorf("%q: %q is not a unit of a %s; allowed: %s", s, word, what, listWords(scales))
}

var (
	errNumber   = errors.New("the value is not a decimal number")
	errFraction = errors.New("the value is finer than the smallest unit")
)

// ErrTooLarge is in the error of a quantity above the largest value of its type.
var ErrTooLarge = errors.New("the value is too large")

// multiplyDecimal multiplies a decimal number by worth, exactly. worth is below 2⁵⁹. It is an error if the product is
// not whole or too large. So is a text that is not a decimal number.
func multiplyDecimal(number string, worth int64) (int64, error) {
	whole, fraction, dotted := strings.Cut(number, ".")
	if whole == "" || dotted && fraction == "" || strings.Contains(fraction, ".") {
		return 0, errNumber
	}
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return 0, ErrTooLarge
	}
	hi, lo := bits.Mul64(n, uint64(worth))
	// Horner's rule from the last decimal place: the sum of the places behind a place must be whole there, or the
	// fraction is not a whole number.
	rest := uint64(0)
	for i := len(fraction) - 1; i >= 0; i-- {
		rest += uint64(fraction[i]-'0') * uint64(worth)
		if rest%10 != 0 {
			return 0, errFraction
		}
		rest /= 10
	}
	lo, carry := bits.Add64(lo, rest, 0)
	if hi += carry; hi != 0 || lo > 1<<63-1 {
		return 0, ErrTooLarge
	}
	return int64(lo), nil
}

// formatQuantity writes v with the largest word of scales that leaves at most three decimal places. Parsing the result
// gives v again.
func formatQuantity(v int64, scales []scale) string {
	sign, u := "", uint64(v)
	if v < 0 {
		sign, u = "-", -u
	}
	for _, sc := range scales {
		w := uint64(sc.worth)
		if w > 1 && (u < w || w%1000 != 0) || sc.word == "µs" || sc.word == "KB" {
			continue
		}
		if w == 1 {
			return sign + strconv.FormatUint(u, 10) + sc.word
		}
		if rest := u % w; rest%(w/1000) == 0 {
			t := strconv.FormatUint(u/w, 10)
			if rest > 0 {
				t += strings.TrimRight(fmt.Sprintf(".%03d", rest/(w/1000)), "0")
			}
			return sign + t + sc.word
		}
	}
	last := scales[len(scales)-1]
	return sign + strconv.FormatUint(u, 10) + last.word
}

// ParseTime parses a time: a decimal number with one of ps, ns, us, µs, ms, s, min, h. It must be a whole number of
// picoseconds.
func ParseTime(s string) (Time, error) {
	v, err := parseQuantity(s, "time", timeScales)
	return Time(v), err
}

// String formats t. ParseTime returns t again if it is not negative. Never is "never", which ParseTime refuses.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	if t == 0 {
		return "0s"
	}
	return formatQuantity(int64(t), timeScales[2:])
}

// ParseRate reads a bit rate: a number with bps, kbps, Mbps, Gbps or Tbps, in whole bit/s. 0 is possible.
func ParseRate(s string) (Rate, error) {
	v, err := parseQuantity(s, "rate", rateScales)
	return Rate(v), err
}

// String formats r. ParseRate returns r again.
func (r Rate) String() string { return formatQuantity(int64(r), rateScales) }

// ParsePacketRate reads a packet rate: a number with pps, kpps or Mpps, in whole packets/s. 0 is possible.
func ParsePacketRate(s string) (PacketRate, error) {
	v, err := parseQuantity(s, "packet rate", packetRateScales)
	return PacketRate(v), err
}

// String formats r. ParsePacketRate returns r again.
func (r PacketRate) String() string { return formatQuantity(int64(r), packetRateScales) }

// ParseLinkRate reads a rate in bit/s or in packets/s. It must be above 0.
func ParseLinkRate(s string) (LinkRate, error) {
	var l LinkRate
	if _, word := splitNumber(s); strings.HasSuffix(word, "pps") {
		v, err := ParsePacketRate(s)
		if err != nil {
			return l, err
		}
		l.Packets = v
	} else {
		v, err := parseQuantity(s, "rate", append(append([]scale{}, rateScales...), packetRateScales...))
		if err != nil {
			return l, err
		}
		l.Bits = Rate(v)
	}
	if l == (LinkRate{}) {
		return l, fmt.Errorf("%q: the rate is 0; it must be above 0", s)
	}
	return l, nil
}

// String formats l. ParseLinkRate returns l again unless it is zero.
func (l LinkRate) String() string {
	if l.Packets > 0 {
		return l.Packets.String()
	}
	return l.Bits.String()
}

// ParseBytes reads an amount of data: a number with B, kB, KB, MB, GB, TB (decimal) or KiB, MiB, GiB, TiB, in whole
// bytes. 0 is possible.
func ParseBytes(s string) (Bytes, error) {
	v, err := parseQuantity(s, "size", byteScales)
	return Bytes(v), err
}

// String formats b. ParseBytes returns b again.
func (b Bytes) String() string { return formatQuantity(int64(b), byteScales) }

// ParseLength reads a queue's length: "24 packets" or an amount of data. 0 means no limit.
func ParseLength(s string) (Length, error) {
	number, word := splitNumber(s)
	if word == "packets" || word == "packet" {
		v, err := multiplyDecimal(number, 1)
		if err != nil || v > 1<<31-1 {
			return Length{}, fmt.Errorf("%q is not a whole number of packets below 2³¹", s)
		}
		return Length{Packets: int32(v)}, nil
	}
	v, err := parseQuantity(s, "length", append(append([]scale{}, packetScales...), byteScales...))
	return Length{Bytes: Bytes(v)}, err
}

// String formats l. ParseLength returns l again.
func (l Length) String() string {
	switch {
	case l.Packets == 1:
		return "1 packet"
	case l.Packets > 0 || l.Bytes == 0:
		return strconv.Itoa(int(l.Packets)) + " packets"
	}
	return l.Bytes.String()
}

// ParseDepth reads the depth of a queue: "24 packets", an amount of data, or a time, such as 5ms.
func ParseDepth(s string) (Depth, error) {
	if l, err := ParseLength(s); err == nil {
		return Depth{Packets: l.Packets, Bytes: l.Bytes}, nil
	}
	t, err := ParseTime(s)
	if err != nil {
		return Depth{}, fmt.Errorf("%q is not a queue depth; allowed: packets, bytes or a time, such as 24 packets, 36kB "+
			"or 5ms", s)
	}
	return Depth{Time: t}, nil
}

// String formats d. ParseDepth returns d again.
func (d Depth) String() string {
	if d.Time > 0 {
		return d.Time.String()
	}
	return Length{d.Packets, d.Bytes}.String()
}

// ParseShare parses a share: "85%", "0.2 %" or a plain number such as 0.85, to the nearest float64. The caller must
// check the range.
func ParseShare(s string) (float64, error) {
	if strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("%q is negative; a share is a number such as 85%% or 0.85", s)
	}
	number, word := splitNumber(s)
	whole, fraction, dotted := strings.Cut(number, ".")
	if whole == "" || dotted && fraction == "" || strings.Contains(fraction, ".") || word != "%" && len(number) < len(s) {
		return 0, fmt.Errorf("%q is not a share; a share is a number such as 85%% or 0.85", s)
	}
	if word == "%" {
		number += "e-2" // not a division, which would round twice: 0.7/100 is not 0.007
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w for a share", s, ErrTooLarge)
	}
	return v, nil
}

// FormatShare formats a share as a percentage. ParseShare returns v again if v is not negative and finite.
func FormatShare(v float64) string {
	t := strconv.FormatFloat(v, 'f', -1, 64)
	sign, t := t[:len(t)-len(strings.TrimPrefix(t, "-"))], strings.TrimPrefix(t, "-")
	whole, fraction, _ := strings.Cut(t, ".")
	if whole[0] < '0' || whole[0] > '9' { // not a number, infinite
		return sign + t
	}
	fraction += "00"[min(len(fraction), 2):]
	whole = strings.TrimLeft(whole+fraction[:2], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction = fraction[2:]; fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + "%"
}

// MulDiv returns ⌊a·b/d⌋ with a product of 128 bits, at most the largest int64, which it also returns if d is 0.
// Arguments must not be negative.
func MulDiv(a, b, d int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(d) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return int64(min(q, math.MaxInt64))
}

// mulDivUp is MulDiv rounded up, with the same limit and the same conditions for its arguments.
func mulDivUp(a, b, d int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(d) {
		return math.MaxInt64
	}
	q, rem := bits.Div64(hi, lo, uint64(d))
	if rem > 0 && q < math.MaxInt64 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// bytePicoseconds is 8·10¹²: the time of a byte at 1 bit/s in picoseconds.
const bytePicoseconds = 8 * int64(Second)

// TransmitTime returns the time of b bytes at rate r, rounded up to the next picosecond. It is Never if that is beyond
// the range of Time, or r is 0. Arguments must not be negative.
func TransmitTime(b Bytes, r Rate) Time {
	return Time(mulDivUp(int64(b), bytePicoseconds, int64(r)))
}

// BytesIn returns the number of whole bytes that rate r carries in t, at most the largest Bytes. Arguments must not be
// negative.
func (r Rate) BytesIn(t Time) Bytes {
	return Bytes(MulDiv(int64(r), int64(t), bytePicoseconds))
}
