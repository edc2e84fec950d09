/// One line of every type of format 1, with every key that it may have.
enum LineExamples {
    static let hello =
        #"{"type":"hello","time":"2001-09-09T01:46:40.000000Z","format":1,"run":"r1","filtered":true,"interval_s":0.5,"#
        + #""history_s":120,"first_seq":1,"next_seq":42,"host":{"name":"pi","device":"Raspberry Pi","os":"Debian","#
        + #""kernel":"6.1","arch":"aarch64"},"app":{"name":"catwatch","version":"1.0","started":"2001-09-09T01:46:40Z"}}"#
    static let stats =
        #"{"type":"stats","time":"2001-09-09T01:46:40.000000Z","as_of":41,"endpoints":[{"endpoint":"GET http://a/b","#
        + #""source":"fact","count":20,"errors":1,"last_ms":130.1,"mean_ms":1.5,"min_ms":0.5,"p50_ms":2,"p90_ms":3,"p95_ms":4,"#
        + #""p99_ms":5,"max_ms":6},{"endpoint":"GET http://a/c","source":"x","count":0,"errors":7}],"#
        + #""sources":[{"source":"fact","state":"ok","since":"2001-09-09T01:46:40.000000Z","#
        + ##""type":"fact","unit":"µg","bands":[{"name":"good","letter":"G","color":"#00b050","up_to":50},"##
        + ##"{"name":"poor","letter":"P","color":"#FF0000"}],"higher_is_better":true}]}"##
    static let data =
        #"{"seq":1,"time":"2001-09-09T01:46:40.000001Z","type":"fact","source":"fact","series":"fact/a","value":106,"#
        + #""text":"Cats \"sleep\" é","data":{"fact":"Cats","length":106},"truncated":true,"altered":true}"#
    static let latency =
        #"{"seq":2,"time":"2001-09-09T01:46:40.000000Z","type":"latency","source":"fact","endpoint":"GET http://a/b","#
        + #""status":200,"ms":132.412,"dns_ms":1.1,"connect_ms":20.3,"tls_ms":41.0,"wait_ms":69.5,"receive_ms":0.5,"#
        + #""bytes":178,"reused":true,"late_ms":0.2}"#
    static let memory =
        #"{"seq":3,"time":"2001-09-09T01:46:40.000000Z","type":"memory","source":"catwatch","rss_bytes":14680064,"#
        + #""peak_bytes":15728640,"private_bytes":5242880}"#
    static let window =
        #"{"seq":4,"time":"2001-09-09T01:46:40.000000Z","type":"window","source":"fact","series":"fact","#
        + #""start":"2001-09-09T01:46:30.000000Z","seconds":10,"last":106,"last_seq":1,"count":5,"min":61,"max":140,"#
        + #""mean":98.2,"band":"long","trend":"improving"}"#
    static let error =
        #"{"seq":5,"time":"2001-09-09T01:46:40.000000Z","type":"error","source":"fact","code":"timeout","#
        + #""message":"no answer","endpoint":"GET http://a/b","attempt":3,"retry_in_ms":4180}"#
    static let progress =
        #"{"seq":6,"time":"2001-09-09T01:46:40.000000Z","type":"progress","source":"breeds","done":60,"total":98,"page":2}"#
    static let recovered =
        #"{"seq":7,"time":"2001-09-09T01:46:40.000000Z","type":"recovered","source":"fact","down_s":13.25,"attempts":9}"#
    static let agent =
        #"{"seq":91,"time":"2001-09-09T01:46:40.000000Z","type":"agent","source":"catwatch","events":90,"readers":2,"gaps":1,"#
        + #""late":4,"series":3,"refused_series":5,"refused_endpoints":8,"loop_lag_ms":0.3,"cpu_ms":41.0,"#
        + #""outputs":[{"output":"unix:/run/x.sock","state":"ok","behind":6},"#
        + #"{"output":"journal:x.db","state":"full","behind":0,"durable_seq":85}]}"#
    static let restart =
        #"{"seq":1,"time":"2001-09-09T01:46:40.000000Z","type":"restart","source":"catwatch","last_run":"r0","last_seq":7,"#
        + #""ended":"SIGTERM"}"#
    static let alert =
        #"{"seq":92,"time":"2001-09-09T01:46:40.000000Z","type":"alert","source":"rooms","about":"rooms/kitchen","#
        + #""condition":"hot","state":"resolved","id":"9f2c","at":"2001-09-09T01:46:40.000000Z","#
        + #""since":"2001-09-09T01:40:40.000000Z","severity":"warning","value":700,"test":"rooms/* > 1000","note":"x","#
        + #""down_s":360,"reason":"until","evidence":{"run":"r1","from":60,"to":91,"worst":70}}"#
    static let clock =
        #"{"seq":93,"time":"2001-09-09T01:46:40.000000Z","type":"clock","source":"catwatch","step_s":-3600,"slept_s":0.5}"#
    static let gap = #"{"type":"gap","time":"2001-09-09T01:46:40.000000Z","from":6,"to":90,"reason":"slow_reader"}"#
    static let bye =
        #"{"type":"bye","time":"2001-09-09T01:46:40.000000Z","run":"r1","last_seq":91,"reason":"SIGTERM"}"#

    static let all = [
        hello, stats, data, latency, memory, window, error, progress, recovered, agent, restart, alert, clock, gap, bye,
    ]
}
