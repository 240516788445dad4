package telemetry

// Profile is a format of telemetry by its name. Sizes, widths and wraps are documented at the types that read and
// write it.
type Profile struct {
	Name    string
	Source  string
	Fields  Field // of a record, without the optional time in the switch
	Hops    int   // default number of hops for which a packet has room
	MaxHops int   // maximum of Hops

	codec codec
}

const basicFields = Time | TxBytes | Queue | Rate

// Profiles are the formats of draft-miao §6.1, with the fields that HPCC++ needs as far as the formats have them.
// Their lengths in a frame:
//
//   - hpcc: 2 bytes and 8 a hop, room for five from the sender on (type HPCC): 42.
//   - int-md: 16 bytes and 28 a hop, 32 with sojourn; grows at each hop (int.go).
//   - ioam: 16 bytes with the headers around it and 28 a hop, 32 with sojourn; room from the sender on
//     (ioam.go).
//   - ioam-gafni: the same, with bits 12 and 13 of a draft in place of wide namespace data.
//   - ifa: 8 bytes and 32 a hop; grows at each hop (ifa.go). It carries no count of sent bytes, so HPCC++
//     cannot run on it.
//   - ifa-ext: 8 bytes and 40 a hop, with Weir's counter.
//   - relative: Weir's format for draft-miao §9.1: 2 bytes on paths of any length (RelativeLoad).
var Profiles = [...]Profile{
	{Name: "hpcc", Source: "HPCC (SIGCOMM'19) §4.1, figure 7", Fields: basicFields, Hops: HPCCHops, MaxHops: HPCCHops},
	{Name: "int-md", Source: "P4 INT v2.1", Fields: basicFields | Identity, Hops: MaxHops, MaxHops: MaxHops,
		codec: codecINT},
	{Name: "ioam", Source: "RFC 9197; RFC 9486", Fields: basicFields | Identity, Hops: 5, MaxHops: 8, codec: codecIOAM},
	{Name: "ioam-gafni", Source: "RFC 9197; draft-gafni-ippm-ioam-additional-data-fields-00",
		Fields: basicFields | Identity, Hops: 5, MaxHops: 8, codec: codecIOAM},
	{Name: "ifa", Source: "draft-kumar-ippm-ifa", Fields: Time | Queue | Rate | Sojourn | Identity, Hops: MaxHops,
		MaxHops: MaxHops, codec: codecIFA},
	{Name: "ifa-ext", Source: "draft-kumar-ippm-ifa; Weir", Fields: basicFields | Sojourn | Identity, Hops: MaxHops,
		MaxHops: MaxHops, codec: codecIFA},
	{Name: "relative", Source: "draft-miao-iccrg-hpccplus-01 §9.1; Weir", Fields: Load, codec: codecRelative},
}

// FindProfile returns the profile with this name; false if there is no such profile.
func FindProfile(name string) (Profile, bool) {
	for _, p := range Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}
