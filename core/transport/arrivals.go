package transport

// Bitmap is a set of packet numbers in a window that only moves up: a ring of bits, which grows with the window.
// Methods get the first number of the window, low; the set has no number below it. Numbers must be removed before low
// passes them. The zero Bitmap is empty.
type Bitmap []uint64

// Has reports whether n, which is not below low, is in the set.
func (b Bitmap) Has(n, low int64) bool {
	return n-low < int64(64*len(b)) && b[n>>6&int64(len(b)-1)]>>(n&63)&1 != 0
}

// Add adds n, which is not below low. The set grows as needed.
func (b *Bitmap) Add(n, low int64) {
	for n-low >= int64(64*len(*b))-64 { // one word is spare: the window rarely begins with a word
		b.growRing(low)
	}
	(*b)[n>>6&int64(len(*b)-1)] |= 1 << (n & 63)
}

// Remove removes n, which must be in the set.
func (b Bitmap) Remove(n int64) { b[n>>6&int64(len(b)-1)] &^= 1 << (n & 63) }

// growRing doubles the length of the ring for a window that begins at low.
func (b *Bitmap) growRing(low int64) {
	old := *b
	*b = make(Bitmap, max(2*len(old), 2))
	for word := low >> 6; word < low>>6+int64(len(old)); word++ {
		(*b)[word&int64(len(*b)-1)] = old[word&int64(len(old)-1)]
	}
}

// readBits returns the 64 numbers from base on: bit k is set if base+k is in the set. base is not below low.
func (b Bitmap) readBits(base, low int64) (set uint64) {
	words := int64(len(b))
	word, shift, last := base>>6, uint(base&63), low>>6+words-1
	if word > last {
		return 0
	}
	if set = b[word&(words-1)] >> shift; shift > 0 && word < last {
		set |= b[(word+1)&(words-1)] << (64 - shift)
	}
	return set
}

// Arrivals records the packets of a flow that have arrived at its receiver: all below Expected, and Ahead packets
// beyond.
type Arrivals struct {
	Expected int64 // first packet that has not arrived
	Ahead    int64
	beyond   Bitmap
}

// NewArrivals returns the Arrivals of a flow from which no packet has arrived. memory stores the packets beyond the
// expected one as long as it has room. Its length is a power of two in words, all 0. With nil Arrivals allocates.
func NewArrivals(memory []uint64) Arrivals { return Arrivals{beyond: memory} }

// Has reports whether packet n has arrived.
func (a *Arrivals) Has(n int64) bool {
	return n < a.Expected || a.Ahead > 0 && a.beyond.Has(n, a.Expected)
}

// Add records that packet n has arrived for the first time; n must not be below Expected. Expected becomes the next
// packet that has not arrived.
func (a *Arrivals) Add(n int64) {
	if n != a.Expected {
		a.beyond.Add(n, a.Expected)
		a.Ahead++
		return
	}
	a.Expected++
	for a.Ahead > 0 && a.beyond.Has(a.Expected, a.Expected) {
		a.beyond.Remove(a.Expected)
		a.Ahead--
		a.Expected++
	}
}

// Bits returns which of the 64 packets from base on have arrived beyond the expected one, as a selective
// acknowledgement reports them: bit k is packet base+k.
func (a *Arrivals) Bits(base int64) uint64 {
	from := max(base, a.Expected)
	if a.Ahead == 0 || from-base >= 64 {
		return 0
	}
	return a.beyond.readBits(from, a.Expected) << uint(from-base)
}
