package callcheck

import "strings"

// states are the states, provinces and nations of a few countries: the id, then forms, parted by commas.
const states = `
us-al:alabama,al;us-ak:alaska,ak;us-az:arizona,az;us-ar:arkansas,ar;us-ca:california,ca,calif;us-co:colorado,co
us-ct:connecticut,ct;us-de:delaware,de;us-fl:florida,fl;us-ga:georgia,ga;us-hi:hawaii,hi;us-id:idaho,id
us-il:illinois,il;us-in:indiana,in;us-ia:iowa,ia;us-ks:kansas,ks;us-ky:kentucky,ky;us-la:louisiana,la
us-me:maine,me;us-md:maryland,md;us-ma:massachusetts,ma,mass;us-mi:michigan,mi;us-mn:minnesota,mn
us-ms:mississippi,ms;us-mo:missouri,mo;us-mt:montana,mt;us-ne:nebraska,ne;us-nv:nevada,nv;us-nh:new hampshire,nh
us-nj:new jersey,nj;us-nm:new mexico,nm;us-ny:new york,ny,new york state;us-nc:north carolina,nc
us-nd:north dakota,nd;us-oh:ohio,oh;us-ok:oklahoma,ok;us-or:oregon,or;us-pa:pennsylvania,pa;us-ri:rhode island,ri
us-sc:south carolina,sc;us-sd:south dakota,sd;us-tn:tennessee,tn;us-tx:texas,tx;us-ut:utah,ut;us-vt:vermont,vt
us-va:virginia,va;us-wa:washington,wa,washington state;us-wv:west virginia,wv;us-wi:wisconsin,wi;us-wy:wyoming,wy
us-dc:dc,district of columbia
ca-ab:alberta,ab;ca-bc:british columbia,bc;ca-mb:manitoba,mb;ca-nb:new brunswick,nb
ca-nl:newfoundland and labrador,newfoundland,nl;ca-ns:nova scotia,ns;ca-on:ontario,on;ca-pe:prince edward island,pei
ca-qc:quebec,qc;ca-sk:saskatchewan,sk;ca-yt:yukon,yt
au-nsw:new south wales,nsw;au-qld:queensland,qld;au-sa:south australia,sa;au-tas:tasmania,tas;au-vic:victoria,vic
au-wa:western australia,wa;au-nt:northern territory,nt
gb-eng:england;gb-sct:scotland;gb-wls:wales;gb-nir:northern ireland
in-mh:maharashtra,mh;in-ka:karnataka,ka;in-tn:tamil nadu,tn;in-dl:delhi,dl;in-wb:west bengal,wb;in-ap:andhra pradesh,ap
in-ts:telangana,ts;in-gj:gujarat,gj;in-rj:rajasthan,rj;in-kl:kerala,kl;in-up:uttar pradesh,up;in-pb:punjab,pb
br-sp:sao paulo,sp;br-rj:rio de janeiro,rj;br-mg:minas gerais,mg;br-ba:bahia,ba;br-rs:rio grande do sul,rs
de-by:bavaria,bayern;mx-jal:jalisco;cn-gd:guangdong
`

// countries are those of ISO 3166: alpha-2, alpha-3, then names, parted by commas.
const countries = `
ae,are,united arab emirates,uae;af,afg,afghanistan;al,alb,albania;am,arm,armenia;ao,ago,angola;ar,arg,argentina
at,aut,austria;au,aus,australia;az,aze,azerbaijan;ba,bih,bosnia and herzegovina,bosnia;bb,brb,barbados
bd,bgd,bangladesh;be,bel,belgium;bf,bfa,burkina faso;bg,bgr,bulgaria;bh,bhr,bahrain;bi,bdi,burundi;bj,ben,benin
bn,brn,brunei;bo,bol,bolivia;br,bra,brazil,brasil;bs,bhs,bahamas,the bahamas;bt,btn,bhutan;bw,bwa,botswana
by,blr,belarus;bz,blz,belize;ca,can,canada;cd,cod,democratic republic of the congo,dr congo,drc
cf,caf,central african republic;cg,cog,republic of the congo,congo;ch,che,switzerland;ci,civ,ivory coast,cote d ivoire
cl,chl,chile;cm,cmr,cameroon;cn,chn,china,people s republic of china,prc;co,col,colombia;cr,cri,costa rica;cu,cub,cuba
cv,cpv,cape verde,cabo verde;cy,cyp,cyprus;cz,cze,czech republic,czechia;de,deu,germany,deutschland;dj,dji,djibouti
dk,dnk,denmark;dm,dma,dominica;do,dom,dominican republic;dz,dza,algeria;ec,ecu,ecuador;ee,est,estonia;eg,egy,egypt
er,eri,eritrea;es,esp,spain,espana;et,eth,ethiopia;fi,fin,finland;fj,fji,fiji;fr,fra,france;ga,gab,gabon
gb,gbr,united kingdom,uk,great britain,britain;gd,grd,grenada;ge,geo,georgia;gh,gha,ghana;gm,gmb,gambia,the gambia
gn,gin,guinea;gq,gnq,equatorial guinea;gr,grc,greece;gt,gtm,guatemala;gw,gnb,guinea bissau;gy,guy,guyana
hk,hkg,hong kong;hn,hnd,honduras;hr,hrv,croatia;ht,hti,haiti;hu,hun,hungary;id,idn,indonesia
ie,irl,ireland,republic of ireland;il,isr,israel;in,ind,india;iq,irq,iraq;ir,irn,iran;is,isl,iceland;it,ita,italy
jm,jam,jamaica;jo,jor,jordan;jp,jpn,japan;ke,ken,kenya;kg,kgz,kyrgyzstan;kh,khm,cambodia;km,com,comoros
kp,prk,north korea;kr,kor,south korea,republic of korea,korea;kw,kwt,kuwait;kz,kaz,kazakhstan;la,lao,laos
lb,lbn,lebanon;li,lie,liechtenstein;lk,lka,sri lanka;lr,lbr,liberia;ls,lso,lesotho;lt,ltu,lithuania
lu,lux,luxembourg;lv,lva,latvia;ly,lby,libya;ma,mar,morocco;mc,mco,monaco;md,mda,moldova;me,mne,montenegro
mg,mdg,madagascar;mk,mkd,north macedonia,macedonia;ml,mli,mali;mm,mmr,myanmar,burma;mn,mng,mongolia;mo,mac,macau,macao
mr,mrt,mauritania;mt,mlt,malta;mu,mus,mauritius;mv,mdv,maldives,the maldives;mw,mwi,malawi;mx,mex,mexico
my,mys,malaysia;mz,moz,mozambique;na,nam,namibia;ne,ner,niger;ng,nga,nigeria;ni,nic,nicaragua
nl,nld,netherlands,the netherlands,holland;no,nor,norway;np,npl,nepal;nz,nzl,new zealand;om,omn,oman;pa,pan,panama
pe,per,peru;pg,png,papua new guinea;ph,phl,philippines,the philippines;pk,pak,pakistan;pl,pol,poland
pr,pri,puerto rico;ps,pse,palestine;pt,prt,portugal;py,pry,paraguay;qa,qat,qatar;ro,rou,romania;rs,srb,serbia
ru,rus,russia,russian federation;rw,rwa,rwanda;sa,sau,saudi arabia;sc,syc,seychelles;sd,sdn,sudan;se,swe,sweden
sg,sgp,singapore;si,svn,slovenia;sk,svk,slovakia;sl,sle,sierra leone;sm,smr,san marino;sn,sen,senegal;so,som,somalia
sr,sur,suriname;ss,ssd,south sudan;sv,slv,el salvador;sy,syr,syria;sz,swz,eswatini,swaziland;td,tcd,chad;tg,tgo,togo
th,tha,thailand;tj,tjk,tajikistan;tl,tls,timor leste,east timor;tm,tkm,turkmenistan;tn,tun,tunisia
tr,tur,turkey,turkiye;tt,tto,trinidad and tobago;tw,twn,taiwan;tz,tza,tanzania;ua,ukr,ukraine;ug,uga,uganda
us,usa,united states,united states of america,america,the united states,the usa,the us,u s,u s a;uy,ury,uruguay
uz,uzb,uzbekistan;va,vat,vatican city,vatican;ve,ven,venezuela;vn,vnm,vietnam,viet nam;ye,yem,yemen
za,zaf,south africa;zm,zmb,zambia;zw,zwe,zimbabwe
`

// cities are large cities that have common short names: the name, then those.
const cities = `
new york:new york city,nyc,ny city,the big apple;los angeles:la,l a;san francisco:sf,san fran,s f
las vegas:vegas;philadelphia:philly;mexico city:ciudad de mexico,cdmx;saint petersburg:st petersburg;mumbai:bombay
kolkata:calcutta;chennai:madras;bengaluru:bangalore;beijing:peking;ho chi minh city:saigon;rio de janeiro:rio
kyiv:kiev;rome:roma;munich:munchen;cologne:koln;vienna:wien;prague:praha;warsaw:warszawa;lisbon:lisboa;milan:milano
`

// languages are those of ISO 639 that have many speakers: the code of two letters, that of three, then names.
const languages = `
ar,ara,arabic;bg,bul,bulgarian;bn,ben,bengali,bangla;ca,cat,catalan;cs,ces,czech;da,dan,danish;de,deu,german
el,ell,greek;en,eng,english;es,spa,spanish,castilian;et,est,estonian;fa,fas,persian,farsi;fi,fin,finnish;fr,fra,french
gu,guj,gujarati;he,heb,hebrew;hi,hin,hindi;hr,hrv,croatian;hu,hun,hungarian;id,ind,indonesian;is,isl,icelandic
it,ita,italian;ja,jpn,japanese;kn,kan,kannada;ko,kor,korean;la,lat,latin;lt,lit,lithuanian;lv,lav,latvian
ml,mal,malayalam;mr,mar,marathi;ms,msa,malay;nl,nld,dutch;no,nor,norwegian;pa,pan,punjabi;pl,pol,polish
pt,por,portuguese;ro,ron,romanian;ru,rus,russian;sk,slk,slovak;sl,slv,slovenian;sr,srp,serbian;sv,swe,swedish
sw,swa,swahili;ta,tam,tamil
te,tel,telugu;th,tha,thai;tl,tgl,tagalog,filipino;tr,tur,turkish;uk,ukr,ukrainian;ur,urd,urdu;vi,vie,vietnamese
zh,zho,chinese,mandarin
`

// forms reads a table: it maps each form of an entry's name, its words joined, to the ids of its entries.
func forms(table string, id func(entry string) (id string, forms []string)) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(table) {
		for entry := range strings.SplitSeq(strings.TrimSpace(line), ";") {
			if entry == "" {
				continue
			}
			name, all := id(entry)
			for _, form := range all {
				form = strings.ReplaceAll(form, " ", "")
				out[form] = append(out[form], name)
			}
		}
	}
	return out
}

func colon(entry string) (string, []string) {
	name, all, _ := strings.Cut(entry, ":")
	return name, strings.Split(all, ",")
}

func codes(entry string) (string, []string) {
	all := strings.Split(entry, ",")
	return all[0], all
}

// regions maps forms to the states and countries that they may mean: ca is California and Canada, georgia a state and a
// country.
var regions = func() map[string][]string {
	all := forms(states, colon)
	for form, ids := range forms(countries, codes) {
		all[form] = append(all[form], ids...)
	}
	return all
}()

var languageCodes = forms(languages, codes)

// cityNames maps the short names of a city to its name, with its words joined.
var cityNames = func() map[string]string {
	names := map[string]string{}
	for short, all := range forms(cities, colon) {
		names[short] = strings.ReplaceAll(all[0], " ", "")
	}
	return names
}()
