@main
struct Catwatch {
    static func main() {}
}
