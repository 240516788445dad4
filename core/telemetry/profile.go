package telemetry

// Profile is a format of telemetry by its name. Sizes, widths and wraps stand at the types that read and
// write it.
type Profile struct {
	Name     string
	Source   string
	Fields   Field // what a record has, beside the time in the switch where that is an option
	Hops     int   // of how many hops a packet has room for records, by default
	MostHops int   // and at most

	codec codec
}

const basic = Time | TxBytes | Queue | Rate

// Profiles are the formats of draft-miao §6.1, each with the fields that HPCC++ needs as far as it has them,
// and what they take:
//
//   - hpcc: 2 bytes and 8 a hop, room for five from the sender on (type HPCC): 42.
//   - int-md: 16 bytes and 28 a hop, 32 with sojourn; grows at each hop (int.go).
//   - ioam: 16 bytes with the headers around it and 28 a hop, 32 with sojourn; room from the sender on
//     (ioam.go).
//   - ioam-gafni: as many, with bits 12 and 13 of a draft in place of wide namespace data.
//   - ifa: 8 bytes and 32 a hop; grows at each hop (ifa.go). It carries no count of sent bytes, so HPCC++
//     cannot run on it as it is.
//   - ifa-ext: 8 bytes and 40 a hop, with our counter.
//   - relative: ours, of §9.1: 2 bytes, whatever the path (RelativeLoad).
var Profiles = [...]Profile{
	{Name: "hpcc", Source: "HPCC (SIGCOMM'19) §4.1, figure 7", Fields: basic, Hops: HPCCHops, MostHops: HPCCHops},
	{Name: "int-md", Source: "P4 INT v2.1", Fields: basic | Identity, Hops: MaxHops, MostHops: MaxHops, codec: codecINT},
	{Name: "ioam", Source: "RFC 9197; RFC 9486", Fields: basic | Identity, Hops: 5, MostHops: 8, codec: codecIOAM},
	{Name: "ioam-gafni", Source: "RFC 9197; draft-gafni-ippm-ioam-additional-data-fields-00", Fields: basic | Identity,
		Hops: 5, MostHops: 8, codec: codecIOAM},
	{Name: "ifa", Source: "draft-kumar-ippm-ifa", Fields: Time | Queue | Rate | Sojourn | Identity, Hops: MaxHops,
		MostHops: MaxHops, codec: codecIFA},
	{Name: "ifa-ext", Source: "draft-kumar-ippm-ifa; ours", Fields: basic | Sojourn | Identity, Hops: MaxHops,
		MostHops: MaxHops, codec: codecIFA},
	{Name: "relative", Source: "draft-miao-iccrg-hpccplus-01 §9.1; ours", Fields: Load, codec: codecRelative},
}

// FindProfile returns the profile with this name.
func FindProfile(name string) (Profile, bool) {
	for _, p := range Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}
