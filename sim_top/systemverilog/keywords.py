"""Reserved words of SystemVerilog, VHDL and C++, forbidden as names in an exported module."""

from __future__ import annotations

SYSTEMVERILOG = frozenset(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin
    bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos
    config const constraint context continue cover covergroup coverpoint cross deassign default defparam design
    disable dist do edge else end endcase endchecker endclass endclocking endconfig endfunction endgenerate
    endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
    endtable endtask enum event eventually expect export extends extern final first_match for force foreach
    forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
    implements implies import incdir include initial inout input inside instance int integer interconnect
    interface intersect join join_any join_none large let liblist library local localparam logic longint
    macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not
    notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property
    protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
    showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct super
    supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit
    tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
    until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard
    wire with within wor xnor xor std
    """.split()  # noqa: SIM905 - a list for readers
)
"""Reserved words of SystemVerilog (IEEE 1800-2017, annex B), and its package ``std``."""
VHDL = frozenset(
    """
    abs access after alias all and architecture array assert assume attribute begin block body buffer bus case
    component configuration constant context cover default disconnect downto else elsif end entity exit fairness
    file for force function generate generic group guarded if impure in inertial inout is label library linkage
    literal loop map mod nand new next nor not null of on open or others out package parameter port postponed
    procedure process property protected pure range record register reject release rem report restrict return rol
    ror select sequence severity shared signal sla sll sra srl strong subtype then to transport type unaffected
    units until use variable view vmode vpkg vprop vunit wait when while with xnor xor
    """.split()  # noqa: SIM905 - a list for readers
)
"""Reserved words of VHDL (IEEE 1076-2019).

VHDL ignores case.
"""
CPP = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int list long map mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    queue register reinterpret_cast requires return set short signed sizeof stack static static_assert static_cast
    string struct switch template this thread_local throw true try typedef typeid typename union unsigned using
    vector virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905 - a list for readers
)
"""Reserved words of C++ (ISO 14882:2020), and classes that Verilator 5.006 reserves, such as ``list``."""
RESERVED = SYSTEMVERILOG | VHDL | CPP
"""Forbidden names."""
